import { randomUUID } from 'node:crypto';
import { createMediaBench, microsecondsPerFrame, type MediaMeasurement } from '../media/measure-media.js';
import { figureOf } from '../report/figure.js';
import type { Row } from './row.js';

const CALLS = 200;

export const media: Row = {
  name: 'media',
  about: `CPU time of a media server per frame with ${CALLS} calls, compared with a server that only returns frames`,
  async run({ servers, rounds, say }) {
    const bench = await createMediaBench({
      calls: CALLS,
      mongodbUri: servers.mongodbUri(`media_${randomUUID()}`),
      temporalAddress: servers.temporalAddress,
      serverPids: Object.values(servers.pids).map(String),
    });
    const bare: MediaMeasurement[] = [];
    const ours: MediaMeasurement[] = [];
    try {
      for (let round = 0; round < rounds; round += 1) {
        say(`media: echo, round ${round + 1}`);
        bare.push(await bench.measureEcho());
        say(`media: ours, round ${round + 1}`);
        ours.push(await bench.measureMedia());
      }
    } finally {
      await bench.close();
    }
    const lost = ours.reduce((sum, { carriers }) => sum + carriers.lost, 0);
    if (lost > 0) throw new Error(`${lost} media streams were lost`);
    const both = (of: (measurement: MediaMeasurement) => number) => ({ bare: bare.map(of), ours: ours.map(of) });
    return {
      figures: [
        figureOf({
          name: 'media: core per frame',
          unit: 'µs',
          ...both(microsecondsPerFrame),
          limit: { of: 'ratio', atMost: 1.7 },
        }),
        figureOf({ name: 'media: memory per call', unit: 'kB', ...both(({ bytesPerCall }) => bytesPerCall / 1_024) }),
      ],
    };
  },
};
