// One buffer from Python: arrays one after another, then what they are as JSON, then its length.

const KINDS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  u4: Uint32Array,
  f4: Float32Array,
};

/** Read what packing.py wrote: the header, with every array under its name. */
function unpack(bytes) {
  const { buffer } = bytes.slice();
  const end = buffer.byteLength - 4;
  const length = new DataView(buffer).getUint32(end, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, end - length, length));
  const { arrays, ...header } = JSON.parse(text);
  for (const [name, [kind, offset, size]] of Object.entries(arrays)) {
    header[name] = new KINDS[kind](buffer, offset, size);
  }
  return header;
}

/** Bytes of a text in base64. */
function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
