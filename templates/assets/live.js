// Live updates: one event stream per visible tab keeps the counters of the navigation current and shows a notice when
// the page is outdated. The page itself changes only when the person reloads it. The title of the queue has the number
// of waiting proposals, for which a hidden tab looks once a minute.
(() => {
  'use strict';
  const shown = document.body.dataset;
  const news = document.getElementById('news');
  if (!shown.live || !news) return;
  let stream = null;

  const tell = (text) => {
    if (!news.hidden) return;
    news.querySelector('[role=status]').textContent = text;
    news.hidden = false;
  };

  const label = (number) => (number > 1000 ? '1,000+' : String(number));

  const heard = (event) => {
    const now = JSON.parse(event.data);
    for (const one of document.querySelectorAll('[data-count]')) {
      one.textContent = label(now[one.dataset.count]);
    }
    if (shown.pending) {
      document.title = document.title.replace(/^(\([\d,+]+\) )?/, now.pending ? `(${label(now.pending)}) ` : '');
    }
    if (now.proposal && now.proposal !== shown.proposal) tell('This proposal was decided or changed meanwhile.');
    else if (shown.answers && now.answers > Number(shown.answers)) tell('The producer wrote an answer meanwhile.');
    else if (shown.pending && String(now.pending) !== shown.pending) tell('The queue changed meanwhile.');
  };

  const look = () => {
    if (document.hidden) {
      if (stream) stream.close();
      stream = null;
    } else if (!stream) {
      stream = new EventSource(shown.live);
      stream.addEventListener('counters', heard);
    }
  };
  const glance = () => {
    if (!document.hidden || !shown.pending) return;
    const once = new EventSource(shown.live);
    once.addEventListener('counters', (event) => { once.close(); heard(event); });
    once.onerror = () => once.close();
  };
  setInterval(glance, 60000);
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', () => { if (stream) stream.close(); stream = null; });
  addEventListener('pageshow', look);
})();
