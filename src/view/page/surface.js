// SPDX-License-Identifier: BSD-3-Clause
// A surface of triangles in WebGL 2: drag turns it, the wheel or two fingers bring it nearer, a double click puts it back.

const vertexShader = `#version 300 es
in vec3 position;
in float value;
uniform mat3 turn;
uniform vec2 fit;
uniform vec3 centre;
uniform float size;
out vec3 place;
out float shade;
out vec3 corner;
void main() {
  vec3 at = (position - centre) / size;
  place = turn * at;
  shade = value;
  int which = gl_VertexID % 3;
  corner = vec3(which == 0, which == 1, which == 2);
  gl_Position = vec4(place.xy * fit, place.z * 0.5, 1.0);
}`;

const fragmentShader = `#version 300 es
precision highp float;
in vec3 place;
in float shade;
in vec3 corner;
uniform sampler2D colours;
uniform vec2 range;
uniform float isLog;
uniform float edges;
uniform vec3 noNumber;
out vec4 colour;
void main() {
  vec3 normal = normalize(cross(dFdx(place), dFdy(place)));
  float light = 0.45 + 0.55 * abs(normal.z);
  bool isNone = isnan(shade) || (isLog > 0.5 && shade <= 0.0);
  float at = isLog > 0.5 ? log2(max(shade, 1e-37)) : shade;
  float position = range.y > range.x ? (at - range.x) / (range.y - range.x) : 0.5;
  vec3 base = isNone ? noNumber : texture(colours, vec2(clamp(position, 0.002, 0.998), 0.5)).rgb;
  vec3 wide = fwidth(corner);
  vec3 near = smoothstep(vec3(0.0), wide * 1.2, corner);
  float line = edges > 0.5 ? min(min(near.x, near.y), near.z) : 1.0;
  colour = vec4(base * light * mix(0.45, 1.0, line), 1.0);
}`;

class SurfaceView {
  constructor(canvas) {
    this.canvas = canvas;
    this.reset();
    this.listen();
  }

  reset() { this.turn = [-0.9, 0.6]; this.zoom = 0.95; }

  start() {
    if (this.gl) return true;
    const gl = this.canvas.getContext('webgl2', {antialias: true, preserveDrawingBuffer: true});
    if (!gl) return false;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.gl = gl;
    this.place = Object.fromEntries(['turn', 'fit', 'centre', 'size', 'range', 'isLog', 'edges', 'noNumber'].map(
      name => [name, gl.getUniformLocation(program, name)]));
    this.buffers = ['position', 'value'].map((name, i) => {
      const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, i ? 1 : 3, gl.FLOAT, false, 0, 0);
      return buffer;
    });
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const [key, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
                                [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) {
      gl.texParameteri(gl.TEXTURE_2D, key, value);
    }
    gl.enable(gl.DEPTH_TEST);
    return true;
  }

  // Each triangle has its own corners, so that edges can be drawn.
  take(frame) {
    if (!this.start()) return false;
    const {positions, values, triangles} = frame, gl = this.gl;
    const corners = new Float32Array(triangles.length * 3), shades = new Float32Array(triangles.length);
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < triangles.length; ++i) {
      const from = triangles[i];
      shades[i] = values[from];
      for (let axis = 0; axis < 3; ++axis) {
        const at = positions[3 * from + axis];
        corners[3 * i + axis] = at;
        if (at < low[axis]) low[axis] = at;
        if (at > high[axis]) high[axis] = at;
      }
    }
    this.centre = low.map((each, axis) => (each + high[axis]) / 2);
    this.size = Math.max(1e-30, Math.hypot(...low.map((each, axis) => high[axis] - each)) / 2);
    [corners, shades].forEach((data, i) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[i]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    });
    this.count = triangles.length;
    return true;
  }

  draw(look) {
    if (look) this.look = look;
    const gl = this.gl;
    if (!gl || !this.look) return;
    const scale = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, Math.round(width * scale));
    this.canvas.height = Math.max(1, Math.round(height * scale));
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    const ground = pageColour('--ground').match(/[0-9a-f]{2}/gi).map(each => parseInt(each, 16) / 255);
    gl.clearColor(ground[0], ground[1], ground[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, colourTable(this.look.map));
    const fit = this.zoom * Math.min(width, height);
    gl.uniformMatrix3fv(this.place.turn, false, this.matrix());
    gl.uniform2f(this.place.fit, fit / width, fit / height);
    gl.uniform3fv(this.place.centre, this.centre);
    gl.uniform1f(this.place.size, this.size);
    gl.uniform2fv(this.place.range, this.look.log ? this.look.range.map(Math.log2) : this.look.range);
    gl.uniform1f(this.place.isLog, this.look.log ? 1 : 0);
    gl.uniform1f(this.place.edges, this.look.edges ? 1 : 0);
    gl.uniform3fv(this.place.noNumber, nanColour.map(each => each / 255));
    gl.drawArrays(gl.TRIANGLES, 0, this.count);
  }

  // z is up; the third coordinate is the distance. Column by column.
  matrix() {
    const [around, above] = this.turn, c = Math.cos(around), s = Math.sin(around), u = Math.cos(above), v = Math.sin(above);
    return new Float32Array([c, s * v, s * u, -s, c * v, c * u, 0, u, -v]);
  }

  listen() {
    const held = new Map();
    const canvas = this.canvas;
    canvas.addEventListener('pointerdown', event => {
      held.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const now = [event.clientX, event.clientY];
      if (held.size === 2) {
        const other = [...held.entries()].find(([id]) => id !== event.pointerId)[1];
        const distance = at => Math.hypot(at[0] - other[0], at[1] - other[1]);
        this.zoom = Math.max(.2, Math.min(20, this.zoom * distance(now) / Math.max(1, distance(before))));
      } else {
        this.turn[0] += (now[0] - before[0]) * .008;
        this.turn[1] = Math.max(-1.5, Math.min(1.5, this.turn[1] + (now[1] - before[1]) * .008));
      }
      held.set(event.pointerId, now);
      this.draw();
    });
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, event => held.delete(event.pointerId));
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom = Math.max(.2, Math.min(20, this.zoom * Math.exp(-event.deltaY * .001)));
      this.draw();
    }, {passive: false});
    canvas.addEventListener('dblclick', () => { this.reset(); this.draw(); });
  }
}
