// Live updates: one event stream per visible tab keeps the counters of the navigation current and shows a notice when
// the page is outdated. The page itself changes only when the person asks for it. A closed notice waits for the next
// change. The title of the queue has the number of waiting proposals, for which a hidden tab looks once a minute.
(() => {
  'use strict';
  const shown = document.body.dataset;
  const news = document.getElementById('news');
  if (!shown.live || !news) return;
  const known = { ...shown };
  let latest = {};
  let stream = null;

  const say = (text) => {
    const line = news.querySelector('[role=status]');
    if (line.textContent !== text) line.textContent = text;
    news.hidden = false;
  };
  news.querySelector('.close').addEventListener('click', () => {
    news.hidden = true;
    Object.assign(known, latest);
  });
  const differs = (name) => name in shown && latest[name] !== undefined && String(latest[name]) !== String(known[name]);

  const label = (number) => (number > 1000 ? '1,000+' : String(number));

  const heard = (event) => {
    const now = JSON.parse(event.data);
    for (const one of document.querySelectorAll('[data-count]')) {
      one.textContent = label(now[one.dataset.count]);
    }
    if (shown.pending) {
      document.title = document.title.replace(/^(\([\d,+]+\) )?/, now.pending ? `(${label(now.pending)}) ` : '');
    }
    latest = { pending: now.pending, proposal: now.proposal ?? undefined, ...now.activity };
    if (differs('proposal') || differs('decisions')) say('This proposal was decided or changed meanwhile.');
    else if (differs('answers')) say('The producer wrote an answer meanwhile.');
    else if (differs('notes')) say('A note or an assignment was added meanwhile.');
    else if (differs('pending')) say('The queue changed meanwhile.');
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
