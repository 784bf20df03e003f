// SPDX-License-Identifier: BSD-3-Clause
// A slice as a picture, or as a line where it has one row only; the bar of its colours.

// A canvas in pixels of the screen; drawing is in pixels of the page.
function drawingOn(canvas) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  return {context, width, height};
}

function pageColour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// Where the axis of a slice begins and ends: coordinates where they are known, else numbers of elements.
function axisRange(axis) {
  return axis && axis.lower !== undefined && axis.lower !== null ? [axis.lower, axis.upper] : [0, axis ? axis.length : 1];
}

function axisName(axis) { return axis ? (axis.name || 'element') + (axis.units ? ` [${axis.units}]` : '') : ''; }

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.pixels = document.createElement('canvas');
    this.place = null;   // of the picture on the canvas
  }

  draw(frame, look) {
    this.frame = frame;
    this.drawing = drawingOn(this.canvas);
    if (frame.about.height === 1) return this.drawLine(look);
    this.paint(look);
    const {context, width, height} = this.drawing, about = frame.about;
    const columns = axisRange(about.columns), rows = axisRange(about.rows);
    const physical = Math.abs((columns[1] - columns[0]) / (rows[1] - rows[0]));
    const aspect = physical > 0.2 && physical < 5 ? physical : Math.max(0.2, Math.min(5, about.columns.length / about.rows.length));
    const room = {left: 58, top: 8, width: width - 66, height: height - 48};
    const size = room.width / room.height > aspect ? [room.height * aspect, room.height] : [room.width, room.width / aspect];
    const place = {left: room.left + (room.width - size[0]) / 2, top: room.top + (room.height - size[1]) / 2, width: size[0], height: size[1]};
    this.place = place;
    context.imageSmoothingEnabled = false;
    context.save();   // the first row is at the bottom
    context.translate(place.left, place.top + place.height);
    context.scale(1, -1);
    context.drawImage(this.pixels, 0, 0, place.width, place.height);
    context.restore();
    if (look.boxes && about.boxes) this.drawBoxes(place);
    this.drawAxes(place, about.columns, about.rows);
  }

  paint(look) {
    const {about, values} = this.frame, table = colourTable(look.map), colour = colourScale(look.range, look.log);
    this.pixels.width = about.width;
    this.pixels.height = about.height;
    const context = this.pixels.getContext('2d'), image = context.createImageData(about.width, about.height), data = image.data;
    for (let i = 0; i < values.length; ++i) {
      const index = colour(values[i]);
      for (let c = 0; c < 3; ++c) data[4 * i + c] = index < 0 ? nanColour[c] : table[3 * index + c];
      data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  drawBoxes(place) {
    const {context} = this.drawing;
    const levels = this.frame.about.boxes.map(box => box[4]), most = Math.max(...levels);
    for (const [left, top, right, bottom, level] of this.frame.about.boxes) {
      context.lineWidth = level === most ? 0.6 : 1;
      context.strokeStyle = `rgba(255, 255, 255, ${level === most ? 0.45 : 0.75})`;
      const x = place.left + left * place.width, y = place.top + (1 - bottom) * place.height;
      context.strokeRect(x, y, (right - left) * place.width, (bottom - top) * place.height);
    }
  }

  drawAxes(place, columns, rows) {
    const {context} = this.drawing;
    context.strokeStyle = pageColour('--line');
    context.lineWidth = 1;
    context.strokeRect(place.left - .5, place.top - .5, place.width + 1, place.height + 1);
    context.fillStyle = pageColour('--faint');
    const across = axisRange(columns), up = axisRange(rows), bottom = place.top + place.height;
    context.textAlign = 'center';
    for (const tick of ticksOf(across[0], across[1], Math.max(2, place.width / 90))) {
      const x = place.left + (tick - across[0]) / (across[1] - across[0]) * place.width;
      context.fillRect(x, bottom, 1, 4);
      context.fillText(readable(tick), x, bottom + 16);
    }
    context.fillText(axisName(columns), place.left + place.width / 2, bottom + 32);
    context.textAlign = 'right';
    for (const tick of ticksOf(up[0], up[1], Math.max(2, place.height / 60))) {
      const y = bottom - (tick - up[0]) / (up[1] - up[0]) * place.height;
      context.fillRect(place.left - 4, y, 4, 1);
      context.fillText(readable(tick), place.left - 7, y + 4);
    }
    context.save();
    context.translate(place.left - 46, place.top + place.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(axisName(rows), 0, 0);
    context.restore();
  }

  drawLine(look) {
    const {context, width, height} = this.drawing, {about, values} = this.frame;
    const place = {left: 58, top: 10, width: width - 70, height: height - 50};
    const to = value => look.log ? Math.log10(value) : value, [low, high] = look.range.map(to);
    const y = value => place.top + place.height - (high > low ? (to(value) - low) / (high - low) : .5) * place.height;
    this.place = place;
    this.drawAxes(place, about.columns, {name: about.variable, lower: low, upper: high > low ? high : low + 1, units: look.log ? 'log' : ''});
    context.save();
    context.beginPath();
    context.rect(place.left, place.top, place.width, place.height);
    context.clip();
    context.beginPath();
    let isDown = false;
    for (let i = 0; i < values.length; ++i) {
      const x = place.left + (i + .5) / values.length * place.width, at = y(values[i]);
      if (!Number.isFinite(at)) { isDown = false; continue; }
      isDown ? context.lineTo(x, at) : context.moveTo(x, at);
      isDown = true;
    }
    context.strokeStyle = pageColour('--accent');
    context.lineWidth = 1.5;
    context.stroke();
    context.restore();
  }

  // What is under a place of the canvas, as text; nothing outside.
  probe(x, y) {
    if (!this.place || !this.frame) return null;
    const {about, values} = this.frame, place = this.place;
    const across = (x - place.left) / place.width, up = 1 - (y - place.top) / place.height;
    if (across < 0 || across >= 1 || up < 0 || up >= 1) return null;
    const column = Math.floor(across * about.width), row = about.height === 1 ? 0 : Math.floor(up * about.height);
    const at = (axis, fraction) => {
      const [low, high] = axisRange(axis);
      return `${axis.name || 'element'} ${readable(low + fraction * (high - low))}`;
    };
    const value = values[row * about.width + column];
    const where = about.height === 1 ? at(about.columns, across) : `${at(about.columns, across)}, ${at(about.rows, up)}`;
    return `${where}: ${Number.isNaN(value) ? 'NaN' : readable(value)}`;
  }
}

function drawBar(canvas, look, units) {
  const {context, height} = drawingOn(canvas), table = colourTable(look.map);
  const top = 26, bottom = height - 58, left = 4, width = 18;
  for (let y = top; y < bottom; ++y) {
    const index = Math.min(255, Math.floor((bottom - y) / (bottom - top) * 256));
    context.fillStyle = `rgb(${table[3 * index]}, ${table[3 * index + 1]}, ${table[3 * index + 2]})`;
    context.fillRect(left, y, width, 1);
  }
  context.strokeStyle = pageColour('--line');
  context.strokeRect(left - .5, top - .5, width + 1, bottom - top + 1);
  context.fillStyle = pageColour('--faint');
  context.textAlign = 'left';
  const to = value => look.log ? Math.log10(value) : value, [low, high] = look.range.map(to);
  const ticks = high > low ? ticksOf(low, high, Math.max(2, (bottom - top) / 50)) : [low];
  for (const tick of ticks) {
    const y = bottom - (high > low ? (tick - low) / (high - low) : .5) * (bottom - top);
    context.fillRect(left + width, y, 4, 1);
    context.fillText(readable(look.log ? 10 ** tick : tick), left + width + 7, y + 4);
  }
  context.fillText(units || '', left, 14);
  context.fillStyle = `rgb(${nanColour.join(', ')})`;
  context.fillRect(left, bottom + 24, width, 12);
  context.fillStyle = pageColour('--faint');
  context.fillText('NaN', left + width + 7, bottom + 34);
}
