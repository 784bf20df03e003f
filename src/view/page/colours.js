// SPDX-License-Identifier: BSD-3-Clause
// Colour maps as stops of equal distance; viridis, inferno and cividis look the same everywhere in lightness and to the colour-blind.

const colourStops = {
  'viridis': '4401544713654824754634804144873b528b355f8d2f6c8e2a788e25848e21918c1e9c8922a8842fb47c44bf705ec9627ad1519bd93cbddf26dfe318fde725',
  'inferno': '00000407051b160b392b0b57420a6857106e6a176e7f1e6c932667a82e5fbc3754cc4248dd513aea632af37819f98e09fca50afbbe23f6d746f1ef75fcffa4',
  'cividis': '00224e002b62083370243c6e35456c434e6c4f576c5b606e6669707272747d7c78888578948e77a19975aea371bcae6cc8b866d6c35de5cf52f3db42fee838',
  'blue-red': '0530611249842065ab327cb74393c36bacd190c4ddb1d5e7d1e5f0e4eef4f7f6f6fae9dffddbc7f8bfa4f3a481e48066d6604dc43b3cb1182b8a0b2567001f',
  'grey': '0000000c0c0c1919192626263333334040404c4c4c5959596666667373738080808c8c8c999999a6a6a6b3b3b3c0c0c0ccccccd9d9d9e6e6e6f3f3f3ffffff',
};

// 256 colours, red, green, blue.
function colourTable(name) {
  const stops = colourStops[name] || colourStops.viridis, count = stops.length / 6, table = new Uint8Array(768);
  const part = (stop, channel) => parseInt(stops.substr(stop * 6 + channel * 2, 2), 16);
  for (let i = 0; i < 256; ++i) {
    const at = i / 255 * (count - 1), stop = Math.min(count - 2, Math.floor(at));
    for (let c = 0; c < 3; ++c) table[3 * i + c] = Math.round(part(stop, c) + (at - stop) * (part(stop + 1, c) - part(stop, c)));
  }
  return table;
}

const nanColour = [232, 62, 140];

// From values to numbers of colours: -1 of what is no number, or not positive where the scale is logarithmic.
function colourScale(range, isLog) {
  const low = isLog ? Math.log10(range[0]) : range[0], high = isLog ? Math.log10(range[1]) : range[1];
  const width = high > low ? high - low : 1;
  return value => {
    const position = ((isLog ? Math.log10(value) : value) - low) / width;
    if (Number.isNaN(position) || (isLog && !(value > 0))) return -1;
    return high > low ? Math.max(0, Math.min(255, Math.floor(position * 256))) : 127;
  };
}

// Of numbers that are finite, and positive where they have to be; of none 0 to 1.
function rangeOf(values, isLog) {
  let low = Infinity, high = -Infinity, none = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) { ++none; continue; }
    if (isLog && !(value > 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return {range: low <= high ? [low, high] : isLog ? [0.1, 1] : [0, 1], none};
}

function readable(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(3).replace('e+', 'e');
  return String(+value.toPrecision(5));
}

// Round numbers within a range, about so many.
function ticksOf(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; ++i) ticks.push(i * step);
  return ticks;
}
