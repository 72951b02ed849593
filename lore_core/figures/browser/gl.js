// Field and rows by WebGL2: the field is a texture of colours, a row is a point.

const FIELD_VERTEX = `#version 300 es
in vec2 corner;
uniform vec4 window;
out vec2 place;
void main() {
  gl_Position = vec4(corner, 0.0, 1.0);
  place = mix(window.xy, window.zw, corner * 0.5 + 0.5);
}`;

const FIELD_FRAGMENT = `#version 300 es
precision highp float;
uniform highp sampler2D field;
uniform highp sampler2D vivid;
uniform vec4 extent;
uniform vec3 paper;
uniform float strength;
in vec2 place;
out vec4 shade;
void main() {
  float size = float(textureSize(field, 0).x);
  vec2 node = (place - extent.xy) / (extent.zw - extent.xy) * (size - 1.0);
  if (any(lessThan(node, vec2(-0.5))) || any(greaterThan(node, vec2(size - 0.5)))) discard;
  // A node without a value adds neither colour nor weight.
  vec4 color = texture(field, (node + 0.5) / size);
  if (color.a < 0.5) discard;
  float side = float(textureSize(vivid, 0).x);
  float clear = texture(vivid, (node / (size - 1.0) * (side - 1.0) + 0.5) / side).r;
  float alpha = mix(0.38, 1.0, smoothstep(0.46, 0.54, clear));
  shade = vec4(mix(paper, color.rgb / color.a, alpha * strength), 1.0);
}`;

const ROW_VERTEX = `#version 300 es
precision highp float;
uniform highp sampler2D field;
uniform highp sampler2D colors;
uniform vec2 ends;
uniform float absolute;
uniform vec4 window;
uniform vec4 extent;
uniform vec3 quiet;
uniform float size;
uniform float chosen;
uniform vec3 paper;
uniform mat3 axes;
uniform vec2 depths;
in vec3 place;
in float error;
in uint flags;
out vec4 shade;
vec3 color_of(float error) {
  float value = absolute > 0.5 ? abs(error) : error;
  float share = clamp((value - ends.x) / (ends.y - ends.x), 0.0, 1.0);
  return texelFetch(colors, ivec2(int(share * 255.0 + 0.5), 0), 0).rgb;
}
void main() {
  // Bits of a row: 1 shown, 2 significant, 4 selected, 8 its own error is known, 16 it is too
  // lonely to have one.
  if ((flags & 1u) == 0u || (chosen > 1.5 && (flags & 4u) == 0u)) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 0.0;
    return;
  }
  // On a flat map the axes are its own, and nothing is nearer than another.
  vec3 at = place * axes;
  float near = clamp((at.z - depths.x) * depths.y, -0.99, 0.99);
  gl_Position = vec4((at.xy - window.xy) / (window.zw - window.xy) * 2.0 - 1.0, -near, 1.0);
  gl_PointSize = size * (1.0 + near);
  vec3 color = color_of(error);
  bool lonely = (flags & 16u) != 0u;
  if ((flags & 8u) == 0u) {
    int last = textureSize(field, 0).x - 1;
    vec2 node = (at.xy - extent.xy) / (extent.zw - extent.xy) * float(last) + 0.5;
    vec4 there = texelFetch(field, clamp(ivec2(node), ivec2(0), ivec2(last)), 0);
    color = there.rgb;
    lonely = there.a < 0.5;
  }
  float alpha = (flags & 2u) != 0u ? 0.95 : 0.5;
  if (chosen > 0.5) alpha = (flags & 4u) != 0u ? 1.0 : 0.18;
  if (lonely) {
    color = quiet;
    alpha *= 0.35;
  }
  // In space what is in front hides what is behind: faint is pale there, not clear.
  shade = depths.y > 0.0 ? vec4(mix(paper, color, alpha), 1.0) : vec4(color, alpha);
}`;

const ROW_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec3 ink;
uniform float edge;
in vec4 shade;
out vec4 color;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  if (r > 1.0) discard;
  vec3 rgb = r > 1.0 - edge ? mix(shade.rgb, ink, 0.55) : shade.rgb;
  color = vec4(rgb * shade.a, shade.a);
}`;

/** What is right, up and near on a flat map. */
const FLAT = { axes: [[1, 0, 0], [0, 1, 0]], toward: [0, 0, 1], middle: 0, across: 0 };

/** Draw on a canvas by WebGL2; null where the browser has none. */
function glPainter(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: false, alpha: true });
  if (!gl) return null;
  const fieldProgram = program(gl, FIELD_VERTEX, FIELD_FRAGMENT);
  let rowProgram = null;
  const quad = gl.createVertexArray();
  gl.bindVertexArray(quad);
  const corners = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);
  const corner = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, corner);
  gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
  bind(gl, fieldProgram, "corner", corner, 2, gl.FLOAT, false);
  const rows = gl.createVertexArray();
  const textures = ["field", "vivid", "colors", "against"].map(() => texture(gl));
  const buffers = Object.fromEntries(
    ["place", "error", "flags", "sampled"].map((name) => [name, gl.createBuffer()]),
  );
  let sampled = null;
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  let look = null;
  let [field, against] = [null, null];
  let colored = [];
  let [count, dimensions] = [0, 2];

  const upload = (unit, ...image) => {
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, textures[unit]);
    gl.texImage2D(gl.TEXTURE_2D, 0, ...image);
  };
  /** Columns of rows that their buffers do not hold yet: from afar none is needed. */
  const columns = {};
  const fill = () => {
    for (const [name, column] of Object.entries(columns)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, column(), gl.STATIC_DRAW);
      delete columns[name];
    }
  };
  const setSmooth = () => {
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    }
  };
  const setVivid = ({ vivid }) => {
    const side = Math.sqrt(vivid.length);
    upload(1, gl.R8, side, side, 0, gl.RED, gl.UNSIGNED_BYTE, vivid);
    setSmooth();
  };
  /** Colour the fields anew where they, what a colour means or the theme have changed. */
  const color = (scale) => {
    const now = [field, against, look, scale.signed, scale.limit];
    if (now.every((value, k) => value === colored[k])) return;
    colored = now;
    [[field, 0], [against, 3]].forEach(([one, unit]) => {
      if (!one) return;
      const R = one.resolution;
      const colors = painted(one.values, scale, look.colors);
      upload(unit, gl.RGBA8, R, R, 0, gl.RGBA, gl.UNSIGNED_BYTE, colors);
      setSmooth();
    });
  };
  /** Use a program, with uniforms: numbers, vectors, a matrix. */
  const use = (used, picture, { field, unit }, own) => {
    const { window, scale: { signed, limit } } = picture;
    const extent = field ? [field.x[0], field.y[0], field.x[1], field.y[1]] : [0, 0, 1, 1];
    const ends = [signed ? -limit : 0, limit];
    gl.useProgram(used);
    for (const [name, at] of Object.entries({ field: unit, vivid: 1, colors: 2 })) {
      gl.uniform1i(gl.getUniformLocation(used, name), at);
    }
    const values = { window, extent, ends, absolute: signed ? 0 : 1, paper: look.paper, ...own };
    for (const [name, value] of Object.entries(values)) {
      const [at, vector] = [gl.getUniformLocation(used, name), [value].flat()];
      if (vector.length > 4) gl.uniformMatrix3fv(at, false, vector);
      else gl[`uniform${vector.length}fv`](at, vector);
    }
  };
  /** Draw a field and the rows over it. */
  const paint = (picture, shown) => {
    if (picture.field) {
      use(fieldProgram, picture, shown, { strength: picture.strength });
      gl.disable(gl.BLEND);
      gl.disable(gl.DEPTH_TEST);
      gl.bindVertexArray(quad);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    if (picture.rows && count) {
      fill();
      rowProgram ??= program(gl, ROW_VERTEX, ROW_FRAGMENT);
      const { size, chosen, space } = picture;
      const { axes, toward, middle, across } = space ?? FLAT;
      use(rowProgram, picture, shown, {
        axes: [...axes, toward].flat(),
        depths: [middle, across && 1 / across],
        // In space rows hide each other: their edges would be all one sees.
        edge: size > (space ? 9 : 5) ? 1.6 / size : 0,
        size, chosen, ink: look.ink, quiet: look.quiet,
      });
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      (space ? gl.enable : gl.disable).call(gl, gl.DEPTH_TEST);
      gl.bindVertexArray(rows);
      bind(gl, rowProgram, "place", buffers.place, dimensions, gl.FLOAT, false);
      bind(gl, rowProgram, "error", buffers.error, 1, gl.SHORT, true);
      bind(gl, rowProgram, "flags", buffers.flags, 1, gl.UNSIGNED_BYTE, null);
      if (!picture.sampled) gl.drawArrays(gl.POINTS, 0, Math.min(count, picture.most));
      else {
        // Few of very many rows: the others are not even looked at.
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.sampled);
        if (sampled !== picture.sampled) {
          gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, picture.sampled, gl.STATIC_DRAW);
          sampled = picture.sampled;
        }
        gl.drawElements(gl.POINTS, sampled.length, gl.UNSIGNED_INT, 0);
      }
    }
    gl.bindVertexArray(null);
  };
  return {
    setLook(next) {
      look = next;
      upload(2, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, look.colors);
    },
    setField(next) {
      if (field?.vivid !== next.vivid) setVivid(next);
      field = next;
    },
    /** Another field for what is right of the picture's `split`; null: none. */
    setAgainst: (next) => { against = next; },
    setRows({ x, y, z }) {
      const columnsOf = z ? [x, y, z] : [x, y];
      [count, dimensions] = [x.length, columnsOf.length];
      columns.place = () => {
        const place = new Float32Array(dimensions * count);
        columnsOf.forEach((column, k) => {
          for (let i = 0; i < count; i++) place[dimensions * i + k] = column[i];
        });
        return place;
      };
    },
    setErrors: (error) => { columns.error = () => error || new Int16Array(count); },
    setFlags: (flags) => { columns.flags = () => flags; },
    draw(picture) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      if (!look || !(field || picture.space)) return;
      if (picture.space) return paint(picture, { field: null, unit: 0 });
      color(picture.scale);
      const { width, height } = canvas;
      if (!against) return paint(picture, { field, unit: 0 });
      const at = Math.round(picture.split * width);
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(0, 0, at, height);
      paint(picture, { field, unit: 0 });
      gl.scissor(at, 0, width - at, height);
      paint(picture, { field: against, unit: 3 });
      gl.disable(gl.SCISSOR_TEST);
    },
    free: () => gl.getExtension("WEBGL_lose_context")?.loseContext(),
  };
}

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  return made;
}

function texture(gl) {
  const made = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, made);
  for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
    gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
  }
  for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) {
    gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
  }
  return made;
}

/** Let an attribute read a buffer: as numbers, as shares of their range, or (null) as integers. */
function bind(gl, used, name, buffer, size, type, normalized) {
  const at = gl.getAttribLocation(used, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(at);
  if (normalized === null) gl.vertexAttribIPointer(at, size, type, 0, 0);
  else gl.vertexAttribPointer(at, size, type, normalized, 0, 0);
}
