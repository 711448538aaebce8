const TAPS = 31;

/** Converts 16 kHz to 8 kHz: a windowed-sinc low-pass at the telephone band's edge, then every second sample. */
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

/**
 * Lowers the sample rate of a stream by an integer factor, such as 3 for 24 kHz to 8 kHz. Leftover samples of one chunk
 * are carried into the next. The filter delays the signal by 31 input samples.
 */
export function createDownsampler(factor: number): (pcm: Int16Array) => Int16Array {
  const taps = 2 * TAPS + 1;
  const kernel = lowPass(taps, 0.46 / factor);
  let kept: Int16Array = new Int16Array(taps - 1);
  return (pcm) => {
    const input = new Int16Array(kept.length + pcm.length);
    input.set(kept);
    input.set(pcm, kept.length);
    const out = new Int16Array(Math.max(0, Math.floor((input.length - taps) / factor) + 1));
    for (let i = 0; i < out.length; i++) {
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) sum += (kernel[tap] ?? 0) * (input[i * factor + tap] ?? 0);
      out[i] = Math.max(-32_768, Math.min(32_767, Math.round(sum)));
    }
    kept = input.slice(out.length * factor);
    return out;
  };
}

/** A windowed sinc (Hamming window) with unit gain; the default cutoff is 3.7 kHz at 16 kHz. */
function lowPass(taps = TAPS, cutoff = 0.23): Float64Array {
  const half = (taps - 1) / 2;
  const kernel = Float64Array.from({ length: taps }, (_, i) => {
    const x = i - half;
    const sinc = x === 0 ? 2 * cutoff : Math.sin(2 * Math.PI * cutoff * x) / (Math.PI * x);
    return sinc * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / (taps - 1)));
  });
  const gain = kernel.reduce((sum, value) => sum + value, 0);
  return kernel.map((value) => value / gain);
}
