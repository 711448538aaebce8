const TAPS = 31;

/** 16 kHz to 8 kHz: a windowed-sinc low-pass at the telephone band's edge, then every second sample. */
export function halveSampleRate(pcm: Int16Array): Int16Array {
  const kernel = lowPass();
  const half = (TAPS - 1) / 2;
  const out = new Int16Array(Math.floor(pcm.length / 2));
  for (let i = 0; i < out.length; i++) {
    let sum = 0;
    for (let tap = 0; tap < TAPS; tap++) sum += (kernel[tap] ?? 0) * (pcm[2 * i + tap - half] ?? 0);
    out[i] = Math.max(-32_768, Math.min(32_767, Math.round(sum)));
  }
  return out;
}

/** Cut-off at 0.23 of the input rate (3.7 kHz of 16 kHz), Hamming window, unit gain. */
function lowPass(): Float64Array {
  const cutoff = 0.23;
  const half = (TAPS - 1) / 2;
  const kernel = Float64Array.from({ length: TAPS }, (_, i) => {
    const x = i - half;
    const sinc = x === 0 ? 2 * cutoff : Math.sin(2 * Math.PI * cutoff * x) / (Math.PI * x);
    return sinc * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / (TAPS - 1)));
  });
  const gain = kernel.reduce((sum, value) => sum + value, 0);
  return kernel.map((value) => value / gain);
}
