// Live updates: one event stream per visible tab keeps the counters of the navigation current and shows a notice when
// the page is outdated. The page itself changes only when the person reloads it.
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

  const heard = (event) => {
    const now = JSON.parse(event.data);
    for (const one of document.querySelectorAll('[data-count]')) {
      const number = now[one.dataset.count];
      one.textContent = number > 1000 ? '1,000+' : String(number);
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
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', () => { if (stream) stream.close(); stream = null; });
  addEventListener('pageshow', look);
})();
