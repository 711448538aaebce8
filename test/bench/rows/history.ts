import { Client, Connection } from '@temporalio/client';
import { startBareService } from '../bare/bare-service.js';
import { figureOf, median } from '../report/figure.js';
import { startBenchService } from '../stack/service.js';
import type { Row } from './row.js';
import { placeUntilAccepted, repeat, type Side } from './side.js';

const CALLS = 10;
const WARM_UP = 3;
/** The size that the history of the baseline must have or stay below, because it has only the durable steps. */
export const BARE_EVENTS = 27;
export const BARE_BYTES = 3_900;

export const history: Row = {
  name: 'history',
  about: 'events and bytes of the history of a busy call',
  async run({ servers, rounds, say }) {
    const bare = await startBareService(servers);
    const service = await startBenchService(servers);
    const connection = await Connection.connect({ address: servers.temporalAddress });
    const client = new Client({ connection });
    const sizes = {
      bare: { events: [] as number[], bytes: [] as number[] },
      ours: { events: [] as number[], bytes: [] as number[] },
    };

    async function measure(side: Side) {
      const events: number[] = [];
      const bytes: number[] = [];
      for (let call = 0; call < CALLS; call += 1) {
        const callId = await placeUntilAccepted(() => side.place());
        await side.inbox.received(callId);
        const handle = client.workflow.getHandle(callId);
        await handle.result();
        const { historyLength, historySize } = await handle.describe();
        events.push(historyLength);
        bytes.push(historySize ?? Number.NaN);
      }
      return { events: median(events), bytes: median(bytes) };
    }

    try {
      await service.firstCall();
      for (const side of [bare, service])
        await repeat(WARM_UP, async () => side.inbox.received(await placeUntilAccepted(() => side.place())));
      for (let round = 0; round < rounds; round += 1) {
        say(`history: round ${round + 1}`);
        for (const [name, side] of [
          ['bare', bare],
          ['ours', service],
        ] as const) {
          const { events, bytes } = await measure(side);
          sizes[name].events.push(events);
          sizes[name].bytes.push(bytes);
        }
      }
    } finally {
      await connection.close();
      await bare.stop();
      await service.stop();
    }
    assertBare(sizes.bare);
    const limit = { of: 'ratio' as const, atMost: 1.1 };
    return {
      figures: [
        figureOf({
          name: 'history of a busy call',
          unit: 'events',
          bare: sizes.bare.events,
          ours: sizes.ours.events,
          limit,
        }),
        figureOf({
          name: 'history of a busy call',
          unit: 'bytes',
          bare: sizes.bare.bytes,
          ours: sizes.ours.bytes,
          limit,
        }),
      ],
    };
  },
};

/** @throws Error when something was added to the baseline */
function assertBare({ events, bytes }: { events: readonly number[]; bytes: readonly number[] }): void {
  if (median(events) !== BARE_EVENTS) {
    throw new Error(`The history of the baseline has ${median(events)} events; it must have exactly ${BARE_EVENTS}.`);
  }
  if (median(bytes) > BARE_BYTES) {
    throw new Error(`The history of the baseline has ${median(bytes)} bytes; it may have at most ${BARE_BYTES}.`);
  }
}
