import { callsIn } from '../../src/voice/recordings/stores/s3/stored-calls.js';
import type { StoredCall } from '../../src/voice/recordings/stores/port.js';

const PREFIX = 'voice/';
const [FIRST, SECOND, THIRD] = ['0', '1', '2'].map((digit) => `call_${digit.repeat(26)}`) as [string, string, string];

const object = (path: string, second: number) => ({
  Key: `${PREFIX}${path}`,
  bytes: 10,
  storedAt: new Date(second * 1_000),
});

async function read(...pages: ReturnType<typeof object>[][]): Promise<StoredCall[]> {
  const calls: StoredCall[] = [];
  const given = (async function* () {
    yield* pages;
  })();
  for await (const some of callsIn(given, PREFIX)) calls.push(...some);
  return calls;
}

describe('the calls in a list of objects', () => {
  it('have the sum of their objects and the time of the newest, although they continue on later pages', async () => {
    const calls = await read(
      [object(`${FIRST}/0/joined`, 5), object(`${SECOND}/0/joined`, 7)],
      [object(`${SECOND}/1/segments/000000`, 9), object(`${SECOND}/1/segments/000001`, 8)],
      [],
      [object(`${SECOND}/2/joined`, 1), object(`${THIRD}/0/joined`, 2)],
    );
    expect(calls).toEqual([
      { callId: FIRST, objects: 1, bytes: 10, newestAt: new Date(5_000) },
      { callId: SECOND, objects: 4, bytes: 40, newestAt: new Date(9_000) },
      { callId: THIRD, objects: 1, bytes: 10, newestAt: new Date(2_000) },
    ]);
  });

  it('are not those of other objects', async () => {
    expect(await read([object('notes.txt', 1), object('call_1/0/joined', 1), object('', 1)], [])).toEqual([]);
  });
});
