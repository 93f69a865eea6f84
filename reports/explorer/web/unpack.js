// Reads the binary form of a run's columns, which packing.py writes.

const ARRAYS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, i4: Int32Array, u2: Uint16Array, i2: Int16Array,
                 u1: Uint8Array, i1: Int8Array };

// Return the nested data of a buffer, with typed arrays that share its memory.
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return revive(header, buffer, Math.ceil((4 + length) / 8) * 8);
}

function revive(value, buffer, start) {
  if (Array.isArray(value)) return value.map((inner) => revive(inner, buffer, start));
  if (value === null || typeof value !== "object") return value;
  if (value.$) {
    const [dtype, offset, count] = value.$;
    return new ARRAYS[dtype](buffer, start + offset, count);
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revive(inner, buffer, start)]));
}
