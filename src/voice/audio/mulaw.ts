/** The mu-law byte for silence. */
export const MULAW_SILENCE = 0xff;

const BIAS = 0x84;
const CLIP = 32_635;

/** Encodes 16-bit linear samples as G.711 mu-law, one byte per sample. */
export function encodeMulaw(pcm: Int16Array): Uint8Array {
  const bytes = new Uint8Array(pcm.length);
  for (let i = 0; i < pcm.length; i++) bytes[i] = encodeMulawSample(pcm[i] ?? 0);
  return bytes;
}

/** Decodes G.711 mu-law bytes to 16-bit linear samples. */
export function decodeMulaw(bytes: Uint8Array): Int16Array {
  const pcm = new Int16Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) pcm[i] = MULAW_SAMPLES[bytes[i] ?? MULAW_SILENCE] ?? 0;
  return pcm;
}

/** Encodes one linear sample; one that is too loud is clipped. */
export function encodeMulawSample(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), CLIP) + BIAS;
  const exponent = 31 - Math.clz32(magnitude) - 7;
  const mantissa = (magnitude >> (exponent + 3)) & 0x0f;
  return ~(sign | (exponent << 4) | mantissa) & 0xff;
}

function decodeSample(byte: number): number {
  const bits = ~byte & 0xff;
  const exponent = (bits >> 4) & 0x07;
  const magnitude = ((((bits & 0x0f) << 3) + BIAS) << exponent) - BIAS;
  return (bits & 0x80) === 0 ? magnitude : -magnitude;
}

/** The 16-bit linear sample of each mu-law byte. */
export const MULAW_SAMPLES: Readonly<Int16Array> = Int16Array.from({ length: 256 }, (_, byte) => decodeSample(byte));
