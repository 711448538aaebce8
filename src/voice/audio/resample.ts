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
    return sinc(x, cutoff) * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / (taps - 1)));
  });
  const gain = kernel.reduce((sum, value) => sum + value, 0);
  return kernel.map((value) => value / gain);
}

/** Zero crossings of the sinc on each side, at the lower of the two rates. */
const LOBES = 16;
/** Number of kernels for positions between two input samples. */
const PHASES = 64;

/**
 * Converts a stream of samples from one sample rate to any other, such as 44.1 kHz to 8 kHz, in chunks of any length. The
 * filter delays the signal by 16 samples of the lower rate.
 */
export function createResampler(fromRate: number, toRate: number): (samples: Float32Array) => Float32Array {
  const step = fromRate / toRate;
  const half = Math.ceil(LOBES * Math.max(1, step));
  const cutoff = 0.46 / Math.max(1, step);
  const kernels = Array.from({ length: PHASES }, (_, phase) => interpolation(half, cutoff, phase / PHASES));
  let kept: Float32Array = new Float32Array(half);
  let position = 0;
  return (samples) => {
    const input = new Float32Array(kept.length + samples.length);
    input.set(kept);
    input.set(samples, kept.length);
    const out = new Float32Array(Math.max(0, Math.ceil((input.length - 2 * half - position) / step)));
    for (let i = 0; i < out.length; i++, position += step) {
      const first = Math.floor(position);
      const kernel = kernels[Math.floor((position - first) * PHASES)] ?? [];
      let sum = 0;
      for (let tap = 0; tap < 2 * half; tap++) sum += (kernel[tap] ?? 0) * (input[first + tap] ?? 0);
      out[i] = sum;
    }
    const used = Math.min(Math.floor(position), input.length);
    position -= used;
    kept = input.slice(used);
    return out;
  };
}

/** The windowed sinc that reads the signal `fraction` of a sample behind the middle of 2 × `half` samples. */
function interpolation(half: number, cutoff: number, fraction: number): Float64Array {
  const kernel = Float64Array.from({ length: 2 * half }, (_, tap) => {
    const x = tap - (half - 1) - fraction;
    return sinc(x, cutoff) * (0.54 + 0.46 * Math.cos((Math.PI * x) / half));
  });
  const gain = kernel.reduce((sum, value) => sum + value, 0);
  return kernel.map((value) => value / gain);
}

function sinc(x: number, cutoff: number): number {
  return x === 0 ? 2 * cutoff : Math.sin(2 * Math.PI * cutoff * x) / (Math.PI * x);
}
