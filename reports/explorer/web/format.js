// Numbers with units as text.

// Format a duration in seconds, such as 2.15 µs, 4.1 ms, 12.3 s.
export function seconds(s) {
  if (!(s > 0)) return "0 s";
  if (s < 1e-3) return `${digits(s * 1e6)} µs`;
  return s < 1 ? `${digits(s * 1e3)} ms` : `${digits(s)} s`;
}

// Format an instant of the run with as many digits as tell events apart.
export function instant(s) {
  return `${s.toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 })} s`;
}

// Format a size in binary units, such as 64.0 MiB.
export function bytes(size) {
  for (const [unit, power] of [["TiB", 40], ["GiB", 30], ["MiB", 20], ["KiB", 10]]) {
    if (size >= 2 ** power) return `${(size / 2 ** power).toFixed(size >= 100 * 2 ** power ? 0 : 1)} ${unit}`;
  }
  return `${Math.round(size)} B`;
}

// Format a number with three digits, or as a whole number from 100 on.
export function digits(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

// Format a count, such as 3 files, 1 file.
export function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

// Format a share of one in percent.
export function percent(share) {
  const value = 100 * share;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)} %`;
}
