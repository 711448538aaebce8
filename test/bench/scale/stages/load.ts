import { figureOf, type Figure } from '../../report/figure.js';
import type { RowContext } from '../../rows/row.js';
import { startScaleService } from '../scale-service.js';
import { storedByCalls } from '../stored-bytes.js';
import { HIGHEST_RATE_MS, measureHighestRate, type RateRound } from './highest-rate.js';
import { OVERLOAD_WITHIN_MS, overload, overloadFigures } from './overload.js';
import { soak, soakFigures } from './soak.js';
import type { Stage } from './stage.js';

/** The share of the highest rate at which the soak runs. */
const SOAK_SHARE = 0.8;
const MAX_CACHED = 2_000;
/** The calls that may be open at once in this stage. */
const OPEN_CALLS = 4_000;

/** The highest rate of whole calls, a soak below it, and a load far above it. */
export const load: Stage = ({ minutes }) => ({
  name: 'load',
  about: 'highest rate of whole calls, a soak at 80 % of it, and three times as many requests',
  withinMs: HIGHEST_RATE_MS + OVERLOAD_WITHIN_MS + minutes * 90_000 + 600_000,
  async run({ servers, say }: RowContext) {
    const service = await startScaleService(servers, { calls: OPEN_CALLS, maxCachedCalls: MAX_CACHED });
    try {
      await service.ready();
      const rounds = await measureHighestRate(servers, service, say);
      const best = rounds.toSorted((a, b) => b.callsPerSecond - a.callsPerSecond)[0];
      if (best === undefined) throw new Error('no round was measured');
      const rate = best.callsPerSecond * SOAK_SHARE;
      say(`load: soak of ${minutes} minutes with ${rate.toFixed(1)} calls per second`);
      const soaked = await soak(servers, service, { rate, minutes });
      say('load: three times the highest rate');
      const past = await overload(servers, service, best.callsPerSecond);
      const stored = await storedByCalls(service.database);
      const calls = await service.database.calls.countDocuments();
      if (service.carrier.failures.length > 0) say(`load: failures of the stub: ${service.carrier.failures[0]}`);
      return {
        figures: [...rateFigures(rounds, best), ...soakFigures(soaked, minutes), ...overloadFigures(past, soaked)],
        details: {
          rounds,
          soak: soaked,
          overload: past,
          stored: perCall(stored, calls),
          failures: service.carrier.failures,
        },
      };
    } finally {
      await service.stop();
    }
  },
});

function perCall({ documents, bytes }: { documents: number; bytes: number }, calls: number) {
  return { documents: documents / calls, bytes: bytes / calls };
}

function rateFigures(rounds: readonly RateRound[], best: RateRound): Figure[] {
  const { cpu, calls } = best;
  return [
    figureOf({
      name: 'answered calls without audio',
      unit: 'calls/s',
      ours: rounds.map(({ callsPerSecond }) => callsPerSecond),
    }),
    figureOf({ name: 'highest rate', unit: 'calls/s', ours: [best.callsPerSecond] }),
    figureOf({ name: 'CPU per answered call: all', unit: 'ms', ours: [cpu.all / calls] }),
  ];
}
