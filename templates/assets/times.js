// Times in the reader's zone: the exact one as the title of a relative time, or in place of one in UTC. The server gets
// the offset of the reader's clock, so that it knows when today began.
(() => {
  'use strict';
  const MINUTE = 60_000;
  const units = [['day', 1440], ['hour', 60], ['minute', 1]];
  const exact = new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' });
  const full = new Intl.DateTimeFormat('en-CA', { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' });
  const ago = new Intl.RelativeTimeFormat('en', { style: 'short', numeric: 'always' });

  const age = (then) => {
    const minutes = Math.floor((Date.now() - then) / MINUTE);
    if (minutes < -1 || minutes >= 7 * 1440) return exact.format(then).slice(0, 10);
    const [unit, length] = units.find(([, least]) => minutes >= least) || [];
    return unit ? ago.format(-Math.floor(minutes / length), unit) : 'just now';
  };
  const show = () => {
    for (const one of document.querySelectorAll('time[datetime]')) {
      const then = new Date(one.dateTime);
      one.title = full.format(then);
      one.textContent = 'ago' in one.dataset ? age(then) : exact.format(then).replace(',', '');
    }
  };
  show();
  setInterval(show, MINUTE);
  document.cookie = `zone=${-new Date().getTimezoneOffset()}; path=/; samesite=strict`;
})();
