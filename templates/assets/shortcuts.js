// Keyboard shortcuts. The body's `data-keys` maps actions to keys. A key finds the button, link or field whose
// `data-act` names its action, and clicks it. The script sends nothing itself, so a key can do no more than a mouse.
(() => {
  'use strict';
  const body = document.body;
  const keys = JSON.parse(body.dataset.keys || '{}');
  if (!Object.keys(keys).length) return;

  // A key pressed for the previous page must not act on this one, so keys are enabled shortly after the first paint.
  const ENABLE_DELAY_MILLISECONDS = 250;
  const CHOICE_TIMEOUT_MILLISECONDS = 4000;
  const NOTICE_MILLISECONDS = 2000;
  let armed = false;
  let waiting = 0;
  const arm = () => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    armed = true;
    body.dataset.armed = '';
  }, ENABLE_DELAY_MILLISECONDS)));
  const disarm = () => { armed = false; delete body.dataset.armed; };

  // A key pressed too early is dropped with a notice, because the page may have changed meanwhile. If the next page
  // loads before the notice could be read, that page shows it.
  const NOTICE_ITEM = 'antechamber-early';
  const early = document.getElementById('early');
  let clearing = 0;
  const refuse = (leaving, text = 'Not ready yet: press again.') => {
    early.textContent = text;
    clearTimeout(clearing);
    clearing = setTimeout(() => { early.textContent = ''; }, NOTICE_MILLISECONDS);
    if (leaving) sessionStorage.setItem(NOTICE_ITEM, '1');
  };
  let leaving = false;
  addEventListener('pageshow', () => {
    disarm();
    arm();
    leaving = false;
    sent = null;
    if (sessionStorage.getItem(NOTICE_ITEM)) refuse(false);
    sessionStorage.removeItem(NOTICE_ITEM);
  });
  addEventListener('pagehide', disarm);

  // Without a connection the browser would replace the page by one of its own, with what was typed.
  const offline = () => {
    if (!navigator.onLine) refuse(false, 'No connection: nothing was sent. Try again.');
    return !navigator.onLine;
  };
  // A second Enter before the next page loads would send the same form again, which the service refuses.
  const SENT_MILLISECONDS = 1000;
  let sent = null;
  addEventListener('submit', (event) => {
    if (offline() || event.target === sent) {
      event.preventDefault();
      return;
    }
    sent = event.target;
    setTimeout(() => { if (event.defaultPrevented) sent = null; });
    setTimeout(() => { sent = null; }, SENT_MILLISECONDS);
  });

  const leave = () => { disarm(); leaving = true; };

  const usable = (one) => !one.disabled && one.getClientRects().length > 0;
  // On a page with marks, keys act on the item that has the focus.
  const item = () => document.activeElement.closest('[data-item]');
  const named = (action) => [item(), document].filter(Boolean).flatMap((one) => [
    ...one.querySelectorAll(`[data-act="${action}"]`)]).find(usable);
  // A person's choice of keys may still have one for `keep` and for a move between rows, which needs no button.
  const actionOf = (key) => {
    const found = Object.keys(keys).filter((action) => keys[action] === key);
    return found.find(named) || found.find((action) => action !== 'keep');
  };
  // While a text has unsaved changes, keys decide nothing else until it is saved or restored; what changed meanwhile is
  // shown together with them.
  const unsaved = (field) => 'unsaved' in field.dataset || field.value !== field.defaultValue;
  const changed = () => [...document.querySelectorAll('textarea:not([readonly])')].some(unsaved);
  const FIELDS = 'input:not([type=checkbox], [type=radio]), textarea, select';
  const typing = (one) => one.isContentEditable || one.matches(FIELDS);

  // The end of a long text ticks the box that its approval requires, once it was above the bar; a jump may pass it.
  const bar = document.querySelector('.decide');
  for (const box of document.querySelectorAll('[data-read]')) {
    const end = document.getElementById('end-of-text') || box;
    const margin = `1000000px 0px -${bar.offsetHeight}px 0px`;
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      box.checked = true;
      watch.disconnect();
    }, { rootMargin: margin });
    watch.observe(end);
  }
  const unread = (button) => button.form && !button.formNoValidate && !button.form.checkValidity();
  // A question needs its text: without one, the key leads to the field.
  const unwritten = (button) => {
    const field = 'asks' in button.dataset && button.form.elements.reason_text;
    if (!field || field.value.trim()) return false;
    field.focus();
    refuse(false, 'Write the question first; then Tab and the key again.');
    return true;
  };
  // A mark is chosen and the next item gets the focus; without a focused item, the first one gets it.
  const mark = (radio) => {
    const at = item();
    if (at?.contains(radio)) radio.click();
    else if (at?.querySelector('details:not([open])')) return at.querySelector('summary').click();
    return step(1);
  };
  const press = (button) => {
    if (button.matches('[data-item] [type=radio]')) return mark(button);
    if (unwritten(button)) return undefined;
    if (offline()) return undefined;
    if (unread(button)) return refuse(false, 'Read the text to its end first.');
    leave();
    return button.click();
  };

  // An action with a choice takes two keys: the first highlights a group of buttons, a digit presses one of them.
  const choose = (group) => {
    clearTimeout(waiting);
    for (const lit of document.querySelectorAll('[data-waiting]')) {
      lit.removeAttribute('data-waiting');
      lit.querySelector('[aria-live]').textContent = '';
    }
    waiting = group ? setTimeout(() => choose(null), CHOICE_TIMEOUT_MILLISECONDS) : 0;
    if (!group) return;
    group.setAttribute('data-waiting', '');
    group.querySelector('[aria-live]').textContent = 'Press a digit, or Escape.';
    group.scrollIntoView({ block: 'nearest' });
  };

  // Open the edit form and focus its text.
  const open = (summary) => {
    summary.parentElement.open = true;
    summary.parentElement.querySelector('textarea').focus();
  };

  // Focus the next or the previous row of a list.
  const step = (by) => {
    const rows = [...document.querySelectorAll('.rows a.whole, article .whole, article[data-item]')];
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
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
    if (!found) {
      const off = document.querySelector(`[data-act="${action}"]:disabled`);
      return off ? refuse(false, 'Not possible here; the reason is below the buttons.') : undefined;
    }
    // What only other items have: open the pair of this one, so that it can be marked.
    const other = found.closest('[data-item]');
    if (other && other !== item()) return mark(found);
    if (found.matches('[data-item] [type=radio]')) return mark(found);
    if (found.matches('[data-digits]')) return choose(found);
    if (found.matches('summary')) return open(found);
    // The view has two radio buttons: press the one that is not chosen.
    const group = found.closest('[role=group]');
    if (found.matches('[type=radio]')) return group.querySelector('input:not(:checked)').click();
    if (found.matches('input, select')) return found.focus();
    if (found.matches('button[type=submit], button:not([type])')) return press(found);
    return found.click();
  };

  addEventListener('keydown', (event) => {
    if (event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector('dialog[open]')) return;
    if (!armed) {
      if (actionOf(event.key)) refuse(leaving);
      return;
    }
    if (waiting && event.key === 'Escape') return choose(null);
    const lit = document.querySelector('[data-waiting]') || event.target.closest('[data-digits=edit]');
    const choosing = lit && /^[1-9]$/.test(event.key);
    const choice = choosing && [...lit.querySelectorAll(`[data-digit="${event.key}"]`)].find(usable);
    if (choice) {
      event.preventDefault();
      choose(null);
      return press(choice);
    }
    const action = actionOf(event.key);
    if (!action) return undefined;
    if (changed() && action !== 'edit' && action !== 'refresh') {
      return refuse(false, 'Your edit is not saved: choose a reason, or restore the text.');
    }
    event.preventDefault();
    if (waiting) choose(null);
    act(action);
  });
})();
