// SPDX-License-Identifier: BSD-3-Clause
// Lines of statistics, and what the I/O does.

function drawHistory(canvas, history, current) {
  const {context, width, height} = drawingOn(canvas);
  const known = history.filter(each => each.minimum !== null);
  context.fillStyle = pageColour('--faint');
  if (known.length < 1) return;
  const place = {left: 56, top: 8, width: width - 64, height: height - 30};
  const first = known[0].step, last = Math.max(first + 1, known[known.length - 1].step);
  let low = Math.min(...known.map(each => each.minimum)), high = Math.max(...known.map(each => each.maximum));
  if (!(high > low)) { low -= .5; high += .5; }
  const x = step => place.left + (step - first) / (last - first) * place.width;
  const y = value => place.top + (high - value) / (high - low) * place.height;
  context.beginPath();
  known.forEach((each, i) => i ? context.lineTo(x(each.step), y(each.maximum)) : context.moveTo(x(each.step), y(each.maximum)));
  [...known].reverse().forEach(each => context.lineTo(x(each.step), y(each.minimum)));
  context.globalAlpha = .18;
  context.fillStyle = pageColour('--accent');
  context.fill();
  context.globalAlpha = 1;
  for (const [key, line] of [['minimum', 1], ['maximum', 1], ['mean', 2]]) {
    context.beginPath();
    known.forEach((each, i) => i ? context.lineTo(x(each.step), y(each[key])) : context.moveTo(x(each.step), y(each[key])));
    context.strokeStyle = pageColour('--accent');
    context.lineWidth = line;
    context.stroke();
    if (known.length < 40) known.forEach(each => context.fillRect(x(each.step) - 1.5, y(each[key]) - 1.5, 3, 3));
  }
  context.fillStyle = pageColour('--faint');
  context.textAlign = 'right';
  for (const tick of ticksOf(low, high, Math.max(2, place.height / 30))) context.fillText(readable(tick), place.left - 6, y(tick) + 4);
  context.textAlign = 'center';
  for (const tick of ticksOf(first, last, Math.max(2, place.width / 70))) {
    if (Number.isInteger(tick)) context.fillText(tick, x(tick), place.top + place.height + 16);
  }
  if (current >= first && current <= last) {
    context.fillStyle = pageColour('--text');
    context.fillRect(x(current), place.top, 1, place.height);
  }
}

function readableBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; ++unit; }
  return `${unit && bytes < 100 ? bytes.toPrecision(3) : Math.round(bytes)} ${units[unit]}`;
}

// The end of a scale on which `highest` is in the upper half, `most` halved as often as that takes; `most` where nothing is to be shown.
function scaleEnd(highest, most) {
  let end = most;
  while (highest > 0 && highest <= end / 2) end /= 2;
  return end;
}

// Of a run that goes on: how full the pool is. Returns a text.
function drawPool(canvas, samples) {
  const {context, width, height} = drawingOn(canvas), now = samples[samples.length - 1];
  const place = {left: 70, top: 8, width: width - 78, height: height - 14};
  const span = 60, seen = samples.filter(each => now.at_s - each.at_s <= span);
  const highest = Math.max(...seen.map(each => each.used_bytes)), most = scaleEnd(highest, now.budget_bytes || 1);
  context.beginPath();
  context.moveTo(place.left + place.width, place.top + place.height);
  for (const each of [...samples].reverse()) {
    const x = place.left + place.width * (1 - (now.at_s - each.at_s) / span);
    context.lineTo(Math.max(place.left, x), place.top + place.height * (1 - Math.min(1, each.used_bytes / most)));
    if (x < place.left) break;
  }
  context.lineTo(Math.max(place.left, place.left + place.width * (1 - (now.at_s - samples[0].at_s) / span)), place.top + place.height);
  context.fillStyle = pageColour('--accent');
  context.globalAlpha = .5;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = pageColour('--line');
  context.strokeRect(place.left, place.top, place.width, place.height);
  context.fillStyle = pageColour('--faint');
  context.textAlign = 'right';
  context.fillText(readableBytes(most), place.left - 6, place.top + 10);
  context.fillText('0', place.left - 6, place.top + place.height);
  return `pool ${readableBytes(now.used_bytes)} of ${readableBytes(now.budget_bytes)}, in the last minute at most ` +
    `${readableBytes(highest)}; ${now.waiting_text}`;
}

// Of a run that has ended: when the drain worked, and how long each step blocked. Returns a text.
function drawReport(canvas, report) {
  const {context, width, height} = drawingOn(canvas);
  const run = report.run_seconds || 1, place = {left: 56, top: 6, width: width - 64, height: height - 26};
  const x = seconds => place.left + seconds / run * place.width, half = place.height / 2;
  const blocked = (report.steps || []).map(each => each.blocked_seconds), most = Math.max(1e-9, ...blocked);
  context.fillStyle = pageColour('--accent');
  for (const [begin, end] of (report.drain && report.drain.intervals) || []) {
    context.fillRect(x(begin), place.top + half + 6, Math.max(1, x(end) - x(begin)), half - 8);
  }
  context.fillStyle = '#d08c2f';
  for (const step of report.steps || []) {
    const tall = step.blocked_seconds / most * (half - 4);
    context.fillRect(x(step.end_s) - 1.5, place.top + half - tall, 3, tall);
  }
  context.fillStyle = pageColour('--faint');
  context.textAlign = 'right';
  context.fillText('blocked', place.left - 6, place.top + half / 2 + 4);
  context.fillText('drain', place.left - 6, place.top + half * 1.5 + 4);
  context.textAlign = 'center';
  for (const tick of ticksOf(0, run, Math.max(2, place.width / 80))) context.fillText(`${readable(tick)} s`, x(tick), height - 5);
  const share = 100 * (report.blocked_seconds ? report.blocked_seconds.max : 0) / run;
  return `blocked ${readable(report.blocked_seconds.max)} s of ${readable(run)} s (${share.toPrecision(2)} %), captured ` +
    `${readableBytes(report.captured_bytes || 0)}, pool at most ${readableBytes(report.pool ? report.pool.high_water_bytes : 0)}`;
}
