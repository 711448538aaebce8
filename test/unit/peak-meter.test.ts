import { encodeMulaw } from '../../src/voice/audio/mulaw';
import { createPeakMeter } from '../../src/voice/recordings/peak-meter';

const mulaw = (...samples: number[]) => encodeMulaw(Int16Array.from(samples));
/** Four hours of audio at 8,000 samples a second. */
const LONG = 4 * 3_600 * 8_000;

describe('the peaks of a recording', () => {
  it('are the loudest sample of each part and track, of both signs', () => {
    const meter = createPeakMeter({ samples: 6, parts: 3 });
    meter.add(mulaw(32_124, 0, 0, 0, 0, -32_124, 0, 16_000, 0, 0, 0, 0));
    expect([...meter.peaks]).toEqual([255, 0, 0, 255, 0, 0]);
  });

  it('do not depend on how the audio is cut, also if the parts are not of whole samples', () => {
    const samples = Array.from({ length: 1_000 * 2 }, (_, index) => Math.round(32_000 * Math.sin(index * index)));
    const whole = createPeakMeter({ samples: 1_000, parts: 37 });
    whole.add(mulaw(...samples));
    const cut = createPeakMeter({ samples: 1_000, parts: 37 });
    for (let from = 0, size = 2; from < samples.length; from += size, size += 2) {
      cut.add(mulaw(...samples.slice(from, from + size)));
    }
    expect([...cut.peaks]).toEqual([...whole.peaks]);
    expect(whole.peaks.every((peak) => peak > 0)).toBe(true);
  });

  it('of a recording of four hours are as many as those of a short one, and silence is skipped', () => {
    const meter = createPeakMeter({ samples: LONG, parts: 1_500 });
    meter.skip(LONG - 1);
    meter.add(mulaw(32_124, 32_124));
    expect(meter.peaks).toHaveLength(3_000);
    expect([...meter.peaks.subarray(2_996)]).toEqual([0, 0, 255, 255]);
    expect(meter.peaks.subarray(0, 2_998).every((peak) => peak === 0)).toBe(true);
  });
});
