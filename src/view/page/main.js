// SPDX-License-Identifier: BSD-3-Clause
// What is shown, and the controls that say so.

const $ = id => document.getElementById(id);
const state = {series: null, variable: null, step: null, axis: 0, at: {}, map: 'viridis', log: false, fixed: false, range: [0, 1],
               boxes: true, edges: false, follows: true, steps: 0};
const shown = {list: [], field: null, frame: null, history: [], samples: []};
const picture = new Picture($('picture')), surface = new SurfaceView($('surface'));

const link = new ServerLink(isUp => {
  $('link').textContent = isUp ? 'connected' : 'the server is gone; trying again…';
  $('link').className = isUp ? '' : 'lost';
});

// --- what there is

function askForList(newerThan) { link.ask('list', {what: 'list'}, takeList, newerThan); }

function takeList(about) {
  askForList(about.version);
  if (about.error) return say(about.error);
  shown.list = about.series;
  shown.isLive = about.live;
  fill($('series'), shown.list.map(each => [each.name, each.files > 1 ? `${each.name} (${each.files} files)` : each.name]), state.series);
  if (!shown.list.length) {
    const where = about.places ? about.places.join(', ') : '';
    return say(shown.isLive ? 'Nothing is in the pool yet.' : `There is no NetCDF or HDF5 file in ${where} yet. New ones appear here by themselves.`);
  }
  if (!entry()) {
    const best = shown.list.filter(each => each.fields.length).sort((a, b) => b.changed_s - a.changed_s)[0] || shown.list[0];
    const renamed = state.series && shown.list.find(each => each.name.replace('#', '') === state.series.replace(/[0-9]+(?!.*[0-9])/, ''));
    state.series = (renamed || best).name;
  }
  $('series').value = state.series;
  takeFields();
  askForReports();
}

function entry() { return shown.list.find(each => each.name === state.series); }

function takeFields() {
  const fields = entry().fields, problem = entry().problem;
  if (!fields.length) return say(problem || 'This file has no numbers to show.');
  fill($('variable'), fields.map(each => [each.name, each.units ? `${each.name} [${each.units}]` : each.name]), state.variable);
  const field = fields.find(each => each.name === state.variable) || fields.find(each => each.shape.length > 1) || fields[0];
  const isOther = !shown.field || shown.field.name !== field.name || shown.field.kind !== field.kind ||
    shown.field.shape.length !== field.shape.length;
  shown.field = field;
  state.variable = field.name;
  $('variable').value = field.name;
  if (isOther) {
    state.axis = field.shape.length > 2 && field.shape[field.shape.length - 1] < 10 ? field.shape.length - 1 : 0;
    state.at = {};
    if (field.kind === 'array' && field.shape.length > 2 && state.axis === field.shape.length - 1) state.at[state.axis] = 0;
  }
  showControls();
  if (isOther || !shown.frame || !state.follows) askForPicture();   // else one that is newer is asked for already
  askForHistory();
}

function fill(select, options, chosen) {
  const now = [...select.options].map(each => [each.value, each.textContent]);
  if (JSON.stringify(now) === JSON.stringify(options)) return;
  select.replaceChildren(...options.map(([value, text]) => {
    const option = document.createElement('option');
    option.value = value;
    option.textContent = text;
    return option;
  }));
  if (chosen) select.value = chosen;
}

// --- the cut

function slicedDimensions() {
  const field = shown.field, count = field.shape.length;
  if (field.kind === 'surface' || count < 3) return [];
  const free = field.shape.map((length, d) => d).filter(d => d !== state.axis);
  return field.shape.map((length, d) => d).filter(d => d === state.axis || (field.kind === 'array' && free.indexOf(d) < free.length - 2));
}

function showControls() {
  const field = shown.field, dimensions = slicedDimensions();
  $('slicing').hidden = !dimensions.length;
  $('boxes-line').hidden = field.kind !== 'blocks';
  $('edges-line').hidden = field.kind !== 'surface';
  fill($('axis'), field.shape.map((length, d) => [String(d), `${field.axes[d]} (${length})`]), String(state.axis));
  $('axis').value = String(state.axis);
  const wanted = dimensions.map(d => `${d}:${field.shape[d]}:${field.axes[d]}`).join();
  if ($('places').dataset.of !== wanted) {
    $('places').dataset.of = wanted;
    $('places').replaceChildren(...dimensions.map(d => {
      const label = document.createElement('label'), text = document.createElement('span'), slider = document.createElement('input');
      Object.assign(slider, {type: 'range', min: 0, max: field.shape[d] - 1, id: `place-${d}`});
      slider.addEventListener('input', () => { state.at[d] = +slider.value / field.shape[d] + .5 / field.shape[d]; showPlaces(); askForPicture(); });
      text.id = `place-text-${d}`;
      label.append(text, slider);
      return label;
    }));
  }
  showPlaces();
}

function indexOf(d) { return Math.min(shown.field.shape[d] - 1, Math.floor((state.at[d] === undefined ? .5 : state.at[d]) * shown.field.shape[d])); }

function showPlaces() {
  for (const d of slicedDimensions()) {
    const slider = $(`place-${d}`);
    slider.value = indexOf(d);
    $(`place-text-${d}`).textContent = `${shown.field.axes[d]} = ${indexOf(d)} of ${shown.field.shape[d]}`;
  }
}

function moveCut(by) {
  const d = state.axis;
  if (!slicedDimensions().includes(d)) return;
  state.at[d] = (Math.max(0, Math.min(shown.field.shape[d] - 1, indexOf(d) + by)) + .5) / shown.field.shape[d];
  showPlaces();
  askForPicture();
}

// --- pictures

function askForPicture(newerThan) {
  if (!shown.field) return;
  const scale = Math.min(2, window.devicePixelRatio || 1), frame = $('frame');
  const request = {what: shown.field.kind === 'surface' ? 'surface' : 'slice', series: state.series, variable: state.variable, axis: state.axis,
                   at: shown.field.shape.map((length, d) => state.at[d] === undefined ? .5 : state.at[d]),
                   width: Math.max(64, Math.min(2048, Math.round(frame.clientWidth * scale))),
                   height: Math.max(64, Math.min(2048, Math.round(frame.clientHeight * scale)))};
  if (!state.follows && state.step !== null) request.step = state.step;
  link.ask('picture', request, takePicture, newerThan);
}

// The next one is asked for when this one is drawn: so a browser that is slow, or hidden, asks for fewer.
function askForNewer(version) {
  requestAnimationFrame(() => { if (state.follows && !link.isWaiting('picture')) askForPicture(version); });
}

function takePicture(about, data, offset) {
  askForNewer(about.version);
  if (about.error) return say(about.error);
  if (about.kind === 'surface') {
    const corners = about.corners;
    shown.frame = {about, positions: new Float32Array(data, offset, corners * 3), values: new Float32Array(data, offset + corners * 12, corners),
                   triangles: new Uint32Array(data, offset + corners * 16, about.triangles * 3)};
  } else {
    shown.frame = {about, values: new Float32Array(data, offset, about.width * about.height)};
  }
  state.step = about.step;
  state.steps = about.steps;
  $('message').hidden = true;
  if (about.kind === 'surface' && !surface.take(shown.frame)) return say('This browser has no WebGL 2, which surfaces need.');
  redraw();
}

function redraw() {
  const frame = shown.frame;
  if (!frame) return;
  const found = rangeOf(frame.values, state.log);
  if (!state.fixed) state.range = found.range;
  const isUsable = !state.log || state.range[0] > 0;
  const look = {map: state.map, log: state.log && isUsable, range: state.range, boxes: state.boxes, edges: state.edges};
  const isSurface = frame.about.kind === 'surface';
  $('picture').hidden = isSurface;
  $('surface').hidden = !isSurface;
  if (isSurface) surface.draw(look);
  else picture.draw(frame, look);
  const field = shown.field;
  drawBar($('bar'), look, field ? field.units : '');
  showStep(frame.about, found.none);
  drawHistory($('history'), shown.history, state.step);
}

function showStep(about, none) {
  $('step').max = Math.max(0, state.steps - 1);
  $('step').value = state.step;
  const time = about.time === undefined ? '' : `, t = ${readable(about.time)}`;
  $('step-text').textContent = `step ${state.step + 1} of ${state.steps}${time}`;
  $('follow').textContent = state.follows ? 'Following' : 'Paused';
  $('follow').setAttribute('aria-pressed', String(state.follows));
  for (const id of ['back', 'forth', 'step']) $(id).disabled = Boolean(shown.isLive);
  $('what').textContent = `${about.file || state.series} · ${about.variable}`;
  for (const [id, value] of [['low', state.range[0]], ['high', state.range[1]]]) {
    $(id).disabled = !state.fixed;
    if (document.activeElement !== $(id)) $(id).value = readable(value);
  }
  const facts = [['type', shown.field.type], ['size', shown.field.shape.join(' × ')]];
  if (about.kind === 'surface') facts[1] = ['cells', `${about.cells}, ${about.triangles} triangles seen`];
  if (about.kind === 'surface') facts.push(['values of', about.on + (about.components > 1 ? `, length of ${about.components} parts` : '')]);
  const steps = [about.column_step || 1, about.row_step || 1];
  if (about.kind !== 'surface') {
    facts.push(['shown', Math.max(...steps) > 1 ? `every ${steps.map(each => each + '.').join(' and ')} value` : 'every value']);
  }
  if (about.position !== undefined && about.rows) facts.push(['cut at', readable(about.position)]);
  if (about.boxes) facts.push(['blocks', `${about.boxes.length} cut`]);
  facts.push(['least', readable(rangeOf(shown.frame.values, false).range[0])], ['most', readable(rangeOf(shown.frame.values, false).range[1])]);
  if (none) facts.push(['no number', String(none)]);
  if (about.age_ms !== undefined) facts.push(['seen after', `${Math.round(about.age_ms)} ms`]);
  $('facts').replaceChildren(...facts.flatMap(([name, value]) => {
    const dt = document.createElement('dt'), dd = document.createElement('dd');
    dt.textContent = name;
    dd.textContent = value;
    return [dt, dd];
  }));
}

function say(text) {
  $('message').textContent = text;
  $('message').hidden = false;
  $('picture').hidden = $('surface').hidden = true;
}

// --- statistics and I/O

function askForHistory(newerThan) {
  link.ask('history', {what: 'history', series: state.series, variable: state.variable}, about => {
    if (about.error) { shown.history = []; return; }
    shown.history = about.history;
    const isOfDrain = about.history.some(each => each.is_of_drain), isThinned = about.history.some(each => each.every > 1);
    $('history-title').textContent = `Minimum, mean and maximum of ${about.variable} by step` +
      (isOfDrain ? ', found by the drain' : isThinned ? ', of every n-th plane' : '');
    drawHistory($('history'), shown.history, state.step);
    askForHistory(about.complete ? about.version : undefined);
  }, newerThan);
}

function askForReports(newerThan) {
  link.ask('reports', {what: 'reports'}, about => {
    if (about.error) return;
    if (about.now) {
      shown.samples.push(about.now);
      if (shown.samples.length > 600) shown.samples.shift();
      $('io-text').textContent = drawPool($('io'), shown.samples);
      setTimeout(() => askForReports(), 500);
    } else if (about.reports.length) {
      shown.report = about.reports[about.reports.length - 1];
      showReport();
    } else {
      $('io-text').textContent = 'No report is here: report.file = "…" of a run writes one.';
    }
  }, newerThan);
}

function showReport() {
  $('io-title').textContent = `What the I/O did (${shown.report.file})`;
  $('io-text').textContent = drawReport($('io'), shown.report.report);
}

// --- controls

function goTo(step) {
  if (shown.isLive) return follow(false);   // steps before are in files only
  state.follows = false;
  state.step = Math.max(0, Math.min(state.steps - 1, step));
  askForPicture();
}

function follow(isOn) {
  state.follows = isOn;
  if (isOn) askForPicture();
  else link.forget('picture');
  if (shown.frame) redraw();
}

function choose(key, value) {
  state[key] = value;
  redraw();
}

fill($('map'), Object.keys(colourStops).map(each => [each, each]), state.map);
$('series').addEventListener('change', () => { state.series = $('series').value; state.step = null; state.follows = true; shown.field = null; takeFields(); });
$('variable').addEventListener('change', () => { state.variable = $('variable').value; takeFields(); });
$('axis').addEventListener('change', () => { state.axis = +$('axis').value; showControls(); askForPicture(); });
$('map').addEventListener('change', () => choose('map', $('map').value));
$('log').addEventListener('change', () => choose('log', $('log').checked));
$('fixed').addEventListener('change', () => choose('fixed', $('fixed').checked));
$('boxes').addEventListener('change', () => choose('boxes', $('boxes').checked));
$('edges').addEventListener('change', () => choose('edges', $('edges').checked));
for (const [id, end] of [['low', 0], ['high', 1]]) {
  $(id).addEventListener('change', () => {
    const value = Number($(id).value);
    if (Number.isFinite(value)) state.range = state.range.map((each, i) => i === end ? value : each);
    redraw();
  });
}
$('follow').addEventListener('click', () => follow(!state.follows));
$('back').addEventListener('click', () => goTo(state.step - 1));
$('forth').addEventListener('click', () => goTo(state.step + 1));
$('step').addEventListener('input', () => goTo(+$('step').value));
$('picture').addEventListener('pointermove', event => {
  const text = picture.probe(event.offsetX, event.offsetY);
  $('probe').hidden = text === null;
  $('probe').textContent = text || '';
});
$('picture').addEventListener('pointerleave', () => { $('probe').hidden = true; });

const next = (select, by) => {
  select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
  select.dispatchEvent(new Event('change'));
};
const keys = {
  ArrowLeft: () => goTo(state.step - 1), ArrowRight: () => goTo(state.step + 1), ' ': () => follow(!state.follows), End: () => follow(true),
  Home: () => goTo(0), ArrowUp: () => moveCut(1), ArrowDown: () => moveCut(-1),
  x: () => next($('axis'), 1), v: () => next($('variable'), 1), V: () => next($('variable'), -1), m: () => next($('map'), 1),
  l: () => $('log').click(), f: () => $('fixed').click(), b: () => $('boxes').click(), e: () => $('edges').click(),
};
document.addEventListener('keydown', event => {
  const isTyping = event.target.matches('select, input:not([type=checkbox]):not([type=range])') || event.ctrlKey || event.altKey || event.metaKey;
  if (isTyping || !keys[event.key] || (event.key === ' ' && event.target.matches('button, summary, input'))) return;
  event.preventDefault();
  keys[event.key]();
});
let resized = 0;
window.addEventListener('resize', () => {
  clearTimeout(resized);
  resized = setTimeout(() => { redraw(); askForPicture(); if (shown.report) showReport(); }, 150);
});
askForList();
