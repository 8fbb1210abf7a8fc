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

// Charts are drawn by the server for the width that they have here, once they come near the
// window: what lies further down costs nothing until then.
const near = new IntersectionObserver(seen => {
  for (const {target, isIntersecting} of seen) {
    target.near = isIntersecting;
    fit(target);
  }
}, {rootMargin: '400px'});
async function fit(figure) {
  near.observe(figure); // once; again has no effect
  if (!figure.near) return;
  const width = Math.floor(figure.clientWidth), svg = figure.querySelector('svg'), wanted = figure.dataset.src;
  const drawn = svg ? svg.viewBox.baseVal.width : figure.dataset.w; // w: of the chart that is folded in
  if (!width) return;
  if (!figure.stale && Math.abs(drawn - width) < 16) { unfold(figure); return; }
  const src = new URL(wanted, location.href);
  src.searchParams.set('w', width);
  if (figure.asked === src.href) return; // it is on its way
  figure.asked = src.href;
  try {
    const fresh = (await pieces(src)).querySelector('figure');
    if (fresh && figure.asked === src.href && figure.dataset.src === wanted) {
      figure.stale = false;
      figure.replaceChildren(...fresh.childNodes);
    }
  } catch { if (!figure.stale) unfold(figure); } // the chart that is there stays
  if (figure.asked === src.href) figure.asked = '';
}
// unfold puts the chart in place that came with the page, for browsers without scripts.
function unfold(figure) {
  const kept = figure.querySelector('noscript');
  kept?.replaceWith(...(kept.childElementCount ? kept : parse(kept.textContent)).childNodes);
}
addEventListener('beforeprint', () => document.querySelectorAll('figure').forEach(f => f.stale || unfold(f)));
// The instant as the server reads it; nothing for the end of a live run.
const at = () => run.pinned ? 't=' + run.t : '';
const fitAll = within => within.querySelectorAll('figure').forEach(fit);

// A decision.
const openDecision = newest(async (signal, id, quiet) => {
  const width = Math.floor(($('card').clientWidth - 60) / (innerWidth > 900 ? 2 : 1));
  const fresh = await pieces(`decision?d=${encodeURIComponent(id)}&w=${width}`, signal);
  $('card').replaceChildren(...fresh.childNodes);
  $('card').hidden = false;
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
  const fresh = await pieces('at?' + at(), signal);
  const d = document.activeElement.dataset.d; // the focus stays on it, or moves to the newest if it is gone
  for (const id of ['tiles', 'sites', ...(run.pinned || !run.live || settled ? ['entries'] : [])]) {
    const to = $(id), from = fresh.querySelector('#' + id);
    if (from) to.replaceChildren(...from.childNodes);
  }
  if (d && !document.activeElement.dataset.d) ($('entries').querySelector(`[data-d="${CSS.escape(d)}"]`) ?? $('entries').querySelector('a'))?.focus({preventScroll: true, focusVisible: true});
  if (settled) everythingElse();
});

// What is drawn less often than the figures: charts, jobs and the other policy.
function everythingElse() {
  for (const f of document.querySelectorAll('#around figure, #bysite figure, #wholerun figure')) timed(f);
  listJobs();
  compare();
}
function timed(figure, site = run.site) {
  if (figure.dataset.name === 'policies') return;
  const src = new URL(figure.dataset.src, location.href);
  if (run.pinned) src.searchParams.set('t', run.t); else src.searchParams.delete('t');
  if (figure.dataset.name === 'gantt' && site) src.searchParams.set('site', site); else src.searchParams.delete('site');
  figure.dataset.src = src;
  figure.stale = true;
  fit(figure);
}

// The jobs of a site by its nodes, and back.
function openSite(site) {
  run.site = site;
  remember('site', site);
  $('allsites').hidden = !site;
  timed($('around').querySelector('[data-name=gantt]'));
  if (site) $('around').scrollIntoView({block: 'nearest'});
}

// The list of jobs. What is chosen in the filter stays while the rows change.
const listJobs = newest(async (signal, typed) => {
  const asked = new URLSearchParams([...new FormData($('filter'))].filter(([name, value]) => value && name !== 't'));
  for (const name of ['jq', 'js', 'jsite', 'jt']) remember(name, asked.get(name));
  const fresh = await pieces(`jobs?${asked}&${at()}`, signal);
  for (const select of $('filter').querySelectorAll('select')) {
    if (select === document.activeElement) continue;
    const chosen = select.value;
    select.replaceChildren(...fresh.querySelector(`select[name=${select.name}]`).childNodes);
    select.value = chosen;
  }
  for (const part of ['#matches', '#jobs-head']) document.querySelector(part).replaceChildren(...fresh.querySelector(part).childNodes);
  document.querySelector('#joblist, #jobs .none').replaceWith(fresh.querySelector('#joblist, .none'));
});

// Another policy beside this one.
const compare = newest(async (signal, other) => {
  if (!$('vs') || (other === undefined && !$('vs').value)) return;
  remember('vs', $('vs').value);
  $('versus').setAttribute('aria-busy', 'true');
  const fresh = await pieces(`versus?vs=${encodeURIComponent($('vs').value)}&${at()}`, signal);
  $('versus').replaceChildren(...fresh.childNodes);
  $('versus').removeAttribute('aria-busy');
  if (other !== undefined) $('vs').focus();
  fitAll($('versus'));
});
let waiting = false, settle;
function moveTo(t) {
  run.t = Math.min(Math.max(t, run.first), run.last);
  run.pinned = true;
  $('slide').value = run.t;
  show(run.t);
  if (!waiting) { waiting = true; setTimeout(() => { waiting = false; goTo(false); }, 80); }
  clearTimeout(settle);
  settle = setTimeout(() => { remember('t', new Date(run.t).toISOString().replace(/\.\d+/, '')); goTo(true); }, 500);
}
function follow() {
  play(false);
  if (!run.live) { moveTo(run.last); return; }
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
  for (const li of rows.children) {
    li.classList.add('fresh');
    // Of holds of one job that come one after another the last is shown, which counts the others.
    const job = li.dataset.held, before = job && [...list.children, ...rows.children].filter(x => x !== li && x.dataset.held === job && +x.dataset.n < +li.dataset.n);
    for (const x of before || []) if (li.dataset.times > x.dataset.times) x.remove();
  }
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
let idle = 0, drawn = 0;
async function keepUp() {
  if (!run.live || (!late && ++idle < 5) || document.hidden) return;
  idle = 0; late = false;
  try {
    const now = await pieces('at?' + at());
    for (const id of ['tiles', 'sites']) $(id).replaceChildren(...now.querySelector('#' + id).childNodes);
    const {first, last} = now.querySelector('#now').dataset;
    if (!run.first) run.first = $('slide').min = +first; // nothing had been said
    if (+last) { run.last = +last; $('slide').max = last; if (!run.pinned) { run.t = +last; $('slide').value = last; show(+last); } }
    if (!run.pinned && ++drawn % 10 === 0) everythingElse();
  } catch { /* the feed says that the server is not reached */ }
}

// Older decisions come when the feed is read to its end.
let older = false;
$('feed').addEventListener('scroll', async () => {
  const box = $('feed'), last = $('entries').lastElementChild?.dataset.n;
  if (older || !last || box.scrollTop + box.clientHeight < box.scrollHeight - 400) return;
  older = true;
  try {
    const more = await pieces(`feed?before=${last}&${at()}`);
    if (more.querySelector('[data-n]')) $('entries').append(...more.childNodes);
    older = !$('entries').lastElementChild.dataset.n;
  } catch { older = false; }
}, {passive: true});

// The figures under the pointer: the words that the server gave to a mark.
const tip = $('tip');
function showTip(e) {
  const mark = e.target.closest?.('svg.chart [data-tip], svg.chart :has(> title)');
  const title = mark?.querySelector(':scope > title');
  if (title) { mark.dataset.tip = title.textContent; title.remove(); } // or the browser shows it, too
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(e.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = Math.max(8, e.clientY - box.height - 14) + 'px';
}
document.addEventListener('pointermove', showTip, {passive: true});
document.addEventListener('pointerdown', showTip, {passive: true});
document.addEventListener('scroll', () => { tip.hidden = true; }, {passive: true, capture: true});

document.addEventListener('click', async e => {
  const [what, ...name] = (e.target.closest?.('[data-ref]')?.dataset.ref || '').split(' ');
  if (what === 'decision') openDecision(name.join(' '));
  if (what === 'site') openSite(name.join(' '));
  const more = e.target.closest?.('a[data-more]');
  if (more && !e.metaKey && !e.ctrlKey) {
    e.preventDefault();
    const row = more.closest('tr'), rows = parse('<table>' + await (await fetch(more.dataset.more, {credentials: 'same-origin'})).text() + '</table>');
    row.replaceWith(...rows.querySelectorAll('tr'));
    return;
  }
  const site = e.target.closest?.('a[data-site]');
  if (site && !e.metaKey && !e.ctrlKey) { e.preventDefault(); openSite(site.dataset.site); return; }
  const a = e.target.closest?.('a[data-d],a[data-q]');
  if (!a || e.metaKey || e.ctrlKey || e.shiftKey) return;
  e.preventDefault();
  if (a.dataset.d) openDecision(a.dataset.d);
  else { ask(new URL(a.href).searchParams.get('q')); $('ask').scrollIntoView({block: 'nearest'}); }
});
$('ask').addEventListener('submit', e => { e.preventDefault(); ask($('q').value); });
let typing;
$('jobs').addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(listJobs, 200); });
$('jobs').addEventListener('submit', e => { e.preventDefault(); listJobs(); });
$('versus')?.addEventListener('change', () => compare(true));
$('allsites').addEventListener('click', () => openSite(''));
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
// Charts come after the rest of the page, which is there to be read.
if (document.readyState === 'complete') fitAll(document); else addEventListener('load', () => fitAll(document));
new ResizeObserver(() => { clearTimeout(resized); resized = setTimeout(() => fitAll(document), 150); }).observe(body);
run.site = place.get('site') || '';
$('allsites').hidden = !run.site;
if (run.live) { listen(); setInterval(keepUp, 1000); }
body.dataset.ready = '1';
