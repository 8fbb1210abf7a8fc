// The page is drawn by the server; this puts its pieces in place as time, a
// question or a decision is chosen, and as a live run goes on.
'use strict';

const $ = id => document.getElementById(id);
const body = document.body;
const run = {
  live: 'live' in body.dataset, pinned: 'pinned' in body.dataset,
  first: +body.dataset.first, last: +body.dataset.last, t: +$('slide').value, read: body.dataset.read,
};

// pieces fetches a piece of the page. What is in it is markup that the server
// made of escaped text; nothing else is ever read as markup.
async function pieces(url, signal) {
  const answer = await fetch(url, {signal, credentials: 'same-origin'});
  if (answer.status === 401) location.reload(); // who is signed in no more is asked for the token, and comes back here
  if (!answer.ok && answer.status !== 404) throw new Error(`${answer.status} ${answer.statusText}`);
  return parse(await answer.text());
}

function parse(text) {
  return document.adoptNode(new DOMParser().parseFromString(text, 'text/html').body);
}

function tell(text, cut) {
  $('state').textContent = text;
  $('state').classList.toggle('cut', !!cut);
}

// newest returns a function whose earlier calls give way to the newest.
function newest(work) {
  let last;
  return async (...args) => {
    last?.abort();
    const mine = last = new AbortController();
    try {
      await work(mine.signal, ...args);
    } catch (err) {
      if (err.name !== 'AbortError') tell('not reached: ' + err.message, true);
    }
  };
}

// Where we are is in the address, so that it can be sent to somebody.
const place = new URLSearchParams(location.search);
function remember(name, value) {
  if (value) place.set(name, value); else place.delete(name);
  history.replaceState(null, '', './' + (place.size ? '?' + place : ''));
}

// Charts are drawn by the server for the width that they have here.
async function fit(figure, query) {
  const width = Math.floor(figure.clientWidth), drawn = figure.querySelector('svg');
  if (!width || (!query && drawn && Math.abs(drawn.viewBox.baseVal.width - width) < 16)) return;
  const src = new URL(query || figure.dataset.src, location.href);
  src.searchParams.set('w', width);
  try {
    const fresh = (await pieces(src)).querySelector('figure');
    if (fresh) figure.replaceChildren(...fresh.childNodes);
  } catch { /* the chart that is there stays */ }
}
const fitAll = within => within.querySelectorAll('figure').forEach(f => fit(f));

// A decision.
const openDecision = newest(async (signal, id, quiet) => {
  const width = Math.floor(($('card').clientWidth - 60) / (innerWidth > 900 ? 2 : 1));
  const fresh = await pieces(`decision?d=${encodeURIComponent(id)}&w=${width}`, signal);
  $('card').replaceChildren(...fresh.childNodes);
  fitAll($('card'));
  mark(id);
  if (quiet) return;
  remember('d', id);
  $('card').scrollIntoView({block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
});
function mark(id) {
  for (const a of $('entries').querySelectorAll('a')) {
    if (a.dataset.d === id) a.setAttribute('aria-current', 'true'); else a.removeAttribute('aria-current');
  }
}

// A question.
const ask = newest(async (signal, question) => {
  $('q').value = question;
  $('reply').setAttribute('aria-busy', 'true');
  const before = [...$('reply').querySelectorAll('article')].at(-1)?.dataset.asked || '';
  const fresh = await pieces(`ask?q=${encodeURIComponent(question)}&on=${encodeURIComponent(before)}&w=${Math.floor($('reply').clientWidth)}`, signal);
  $('reply').replaceChildren(...fresh.childNodes);
  $('reply').removeAttribute('aria-busy');
  fitAll($('reply'));
  const said = $('reply').querySelectorAll('article');
  remember('q', said.length === 1 && said[0].dataset.asked || question); // in full, whatever it leaned on
});

// An instant.
const UTC = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC'});
const show = t => { $('clock').textContent = UTC.format(t).replace(',', ''); $('slide').setAttribute('aria-valuetext', $('clock').textContent + ' UTC'); };
const goTo = newest(async (signal, settled) => {
  const fresh = await pieces('at' + (run.pinned ? '?t=' + run.t : ''), signal);
  const d = document.activeElement.dataset.d; // stays where the reader is, if it is still there
  for (const id of ['tiles', 'sites', ...(run.pinned || !run.live || settled ? ['entries'] : [])]) {
    const to = $(id), from = fresh.querySelector('#' + id);
    if (from) to.replaceChildren(...from.childNodes);
  }
  if (d && !document.activeElement.dataset.d) $('entries').querySelector(`[data-d="${CSS.escape(d)}"]`)?.focus({preventScroll: true});
  if (settled) for (const f of $('figures').querySelectorAll('figure')) timed(f);
});
function timed(figure) {
  if (!/^(day|carbon|price)$/.test(figure.dataset.name)) return;
  const src = new URL(figure.dataset.src, location.href);
  if (run.pinned) src.searchParams.set('t', run.t); else src.searchParams.delete('t');
  figure.dataset.src = src;
  fit(figure, src);
}
let waiting = false, settle;
function moveTo(t) {
  run.t = Math.min(Math.max(t, run.first), run.last);
  run.pinned = !(run.t >= run.last && !run.live);
  $('slide').value = run.t;
  show(run.t);
  if (!waiting) { waiting = true; setTimeout(() => { waiting = false; goTo(false); }, 80); }
  clearTimeout(settle);
  settle = setTimeout(() => { remember('t', run.pinned ? run.t : ''); goTo(true); }, 500);
}
function follow() {
  play(false);
  run.pinned = false;
  run.t = run.last;
  $('slide').value = run.t;
  show(run.t);
  remember('t', '');
  fresh.count = 0;
  $('fresh').hidden = true;
  goTo(true);
}
let player;
function play(on) {
  clearInterval(player);
  player = on ? setInterval(() => {
    moveTo(run.t + $('speed').value * 1000 * 0.2);
    if (run.t >= run.last) play(false);
  }, 200) : 0;
  $('play').textContent = on ? 'Pause' : 'Play';
  $('play').setAttribute('aria-pressed', String(on));
}

// The feed of a run that goes on. What comes at once is put in place at once.
const fresh = {rows: [], count: 0, drawn: 0};
function draw() {
  fresh.drawn = 0;
  const rows = parse(fresh.rows.splice(0).reverse().join('')), list = $('entries');
  if (run.pinned) {
    fresh.count += rows.childElementCount;
    $('fresh').textContent = `${fresh.count} new`;
    $('fresh').hidden = false;
    return;
  }
  const top = $('feed').scrollTop, high = list.scrollHeight;
  list.querySelector('.none')?.remove();
  for (const li of rows.children) li.classList.add('fresh');
  list.prepend(...rows.childNodes);
  while (list.childElementCount > (top > 0 ? 2000 : 120)) list.lastElementChild.remove(); // not under who reads older ones
  if (top > 0) $('feed').scrollTop = top + list.scrollHeight - high; // what is read stays where it is
}

// The feed is followed while the page is seen: a browser has six connections to
// a server for all its tabs, and those that nobody looks at would hold them. It
// goes on after what came last.
let events, again, late = false;
function listen() {
  events?.close();
  clearTimeout(again);
  if (!run.live || document.hidden) return;
  events = new EventSource('events?after=' + run.read);
  events.onopen = () => tell('live');
  events.onerror = () => {
    tell('not reached: trying again', true);
    // After an answer that is an error, as of a proxy, the browser does not.
    if (events.readyState === EventSource.CLOSED) again = setTimeout(listen, 1000);
  };
  events.addEventListener('decision', e => {
    run.read = e.lastEventId;
    fresh.rows.push(e.data);
    late = true;
    if (!fresh.drawn) fresh.drawn = requestAnimationFrame(draw);
  });
  const end = (text, cut) => { events.close(); run.live = false; delete body.dataset.live; tell(text, cut); };
  events.addEventListener('over', () => end('ended'));
  events.addEventListener('broken', () => end('stands still: it cannot be read on', true));
  events.addEventListener('other', () => { events.close(); location.reload(); });
}
document.addEventListener('visibilitychange', () => { late = true; listen(); });

// What stands beside the feed follows it.
let idle = 0;
async function keepUp() {
  if (!run.live || (!late && ++idle < 5) || document.hidden) return;
  idle = 0; late = false;
  try {
    const now = await pieces('at' + (run.pinned ? '?t=' + run.t : ''));
    for (const id of ['tiles', 'sites']) $(id).replaceChildren(...now.querySelector('#' + id).childNodes);
    const {first, last} = now.querySelector('#now').dataset;
    if (!run.first) run.first = $('slide').min = +first; // nothing had been said
    if (+last) { run.last = +last; $('slide').max = last; if (!run.pinned) { run.t = +last; $('slide').value = last; show(+last); } }
  } catch { /* the feed says that the server is not reached */ }
}

// Older decisions come when the feed is read to its end.
let older = false;
$('feed').addEventListener('scroll', async () => {
  const box = $('feed'), last = $('entries').lastElementChild?.dataset.n;
  if (older || !last || box.scrollTop + box.clientHeight < box.scrollHeight - 400) return;
  older = true;
  try {
    const more = await pieces('feed?before=' + last);
    if (more.querySelector('[data-n]')) $('entries').append(...more.childNodes);
    older = !$('entries').lastElementChild.dataset.n;
  } catch { older = false; }
}, {passive: true});

document.addEventListener('click', e => {
  const a = e.target.closest?.('a[data-d],a[data-q]');
  if (!a || e.metaKey || e.ctrlKey || e.shiftKey) return;
  e.preventDefault();
  if (a.dataset.d) openDecision(a.dataset.d);
  else { ask(new URL(a.href).searchParams.get('q')); $('ask').scrollIntoView({block: 'nearest'}); }
});
$('ask').addEventListener('submit', e => { e.preventDefault(); ask($('q').value); });
$('time').addEventListener('submit', e => e.preventDefault());
$('slide').addEventListener('input', () => { play(false); moveTo(+$('slide').value); });
$('play').addEventListener('click', () => { if (!player && run.t >= run.last) moveTo(run.first); play(!player); });
$('end').addEventListener('click', follow);
$('fresh').addEventListener('click', follow);
$('keys').addEventListener('click', () => $('help').showModal());
$('theme').addEventListener('click', () => {
  const dark = (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  try { localStorage.setItem('theme', document.documentElement.dataset.theme); } catch { /* for this visit only */ }
});
document.addEventListener('keydown', e => {
  if (e.metaKey || e.ctrlKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== 'range' || $('help').open) return;
  const rows = [...$('entries').querySelectorAll('a')], here = rows.indexOf(document.activeElement);
  const keys = {
    '/': () => { $('q').focus(); $('q').select(); },
    j: () => rows[Math.min(here + 1, rows.length - 1)]?.focus(),
    k: () => rows[Math.max(here - 1, 0)]?.focus(),
    '[': () => moveTo(run.t - 3600e3), ']': () => moveTo(run.t + 3600e3),
    p: () => $('play').click(), e: follow, '?': () => $('help').showModal(),
  };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

for (const id of ['play', 'speed', 'end', 'theme', 'keys']) $(id).hidden = false;
let resized;
new ResizeObserver(() => { clearTimeout(resized); resized = setTimeout(() => fitAll(document), 150); }).observe(body);
if (run.live) { listen(); setInterval(keepUp, 1000); }
body.dataset.ready = '1';
