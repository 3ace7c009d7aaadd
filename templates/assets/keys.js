// Keyboard shortcuts: a key finds the button, link or field that names its action and clicks it. The script itself
// makes no decision, so a key can do no more than a mouse.
(() => {
  'use strict';
  const body = document.body;
  const keys = JSON.parse(body.dataset.keys || '{}');
  const actions = new Map(Object.entries(keys).map(([action, key]) => [key, action]));
  if (!actions.size) return;

  // A key pressed for the previous page must not act on this one, so keys are enabled shortly after the first paint.
  const REST = 250;
  const PATIENCE = 4000;
  let armed = false;
  let waiting = 0;
  const arm = () => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    armed = true;
    body.dataset.armed = '';
  }, REST)));
  const disarm = () => { armed = false; delete body.dataset.armed; };

  // A key pressed too early is dropped with a notice, because the page may have changed meanwhile. If the next page
  // loads before the notice could be read, that page shows it.
  const EARLY = 'antechamber-early';
  const early = document.getElementById('early');
  let clearing = 0;
  const refuse = (leaving) => {
    early.textContent = 'Not ready yet: press again.';
    clearTimeout(clearing);
    clearing = setTimeout(() => { early.textContent = ''; }, PATIENCE / 2);
    if (leaving) sessionStorage.setItem(EARLY, '1');
  };
  let leaving = false;
  addEventListener('pageshow', () => {
    disarm();
    arm();
    leaving = false;
    if (sessionStorage.getItem(EARLY)) refuse(false);
    sessionStorage.removeItem(EARLY);
  });
  addEventListener('pagehide', disarm);

  const leave = () => { disarm(); leaving = true; };

  const usable = (one) => !one.disabled && one.getClientRects().length > 0;
  const named = (action) => [...document.querySelectorAll(`[data-act="${action}"]`)].find(usable);
  // While a text has unsaved changes, keys decide nothing else until it is saved or restored.
  const changed = () => [...document.querySelectorAll('textarea:not([readonly])')].some((one) => 'unsaved' in one.dataset || one.value !== one.defaultValue);
  const typing = (one) => one.isContentEditable || one.matches('input, textarea, select');

  // An action with a choice takes two keys: the first highlights a group of buttons, the digit presses one.
  const choose = (group) => {
    clearTimeout(waiting);
    for (const lit of document.querySelectorAll('[data-waiting]')) {
      lit.removeAttribute('data-waiting');
      lit.querySelector('[aria-live]').textContent = '';
    }
    waiting = group ? setTimeout(() => choose(null), PATIENCE) : 0;
    if (!group) return;
    group.setAttribute('data-waiting', '');
    group.querySelector('[aria-live]').textContent = 'Press the digit of a choice, or Escape.';
    group.scrollIntoView({ block: 'nearest' });
  };

  const open = (summary) => {
    summary.parentElement.open = true;
    summary.parentElement.querySelector('textarea').focus();
  };

  const step = (by) => {
    const rows = [...document.querySelectorAll('.rows a.whole')];
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const to = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[to].focus();
  };

  const help = () => {
    const dialog = document.getElementById('keys');
    if (dialog && !dialog.open) dialog.showModal();
  };

  const act = (action) => {
    if (action === 'next') return step(1);
    if (action === 'previous') return step(-1);
    if (action === 'help') return help();
    const found = named(action);
    if (!found) return undefined;
    if (found.matches('[data-digits]')) return choose(found);
    if (found.matches('summary')) return open(found);
    if (found.matches('input')) return found.focus();
    if (found.matches('button[type=submit], button:not([type])')) leave();
    return found.click();
  };

  addEventListener('keydown', (event) => {
    if (event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector('dialog[open]')) return;
    if (!armed) {
      if (actions.has(event.key)) refuse(leaving);
      return;
    }
    if (waiting && event.key === 'Escape') return choose(null);
    const lit = document.querySelector('[data-waiting]') || event.target.closest('[data-digits=edit]');
    const choice = lit && /^[1-9]$/.test(event.key) && [...lit.querySelectorAll(`[data-digit="${event.key}"]`)].find(usable);
    if (choice) {
      event.preventDefault();
      choose(null);
      leave();
      return choice.click();
    }
    const action = actions.get(event.key);
    if (!action || (changed() && action !== 'edit')) return undefined;
    event.preventDefault();
    if (waiting) choose(null);
    act(action);
  });
})();
