import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { recordTurn } from '../../src/voice/engines/pipeline/stt/turn-recording.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const FRAME_BYTES = 160;
const FRAMES_OF_PIECE = 1_500;

it('a turn that does not end keeps the audio of its current piece only, and the words of all', async () => {
  const billed: number[] = [];
  const audio: WeakRef<Uint8Array>[] = [];
  const turn = recordTurn({
    transcribe: async () => 'words',
    onText: () => undefined,
    onBilled: (seconds) => billed.push(seconds),
    onFailed: (error) => {
      throw error;
    },
  });
  for (let piece = 0; piece < 10; piece++) {
    for (let frame = 0; frame < FRAMES_OF_PIECE; frame++) {
      const bytes = new Uint8Array(FRAME_BYTES);
      if (frame === 0) audio.push(new WeakRef(bytes));
      turn.add(bytes, false);
    }
    await sleep(1);
  }
  const last = new Uint8Array(FRAME_BYTES);
  turn.add(last, false);
  await sleep(1);
  collectGarbage();
  expect(audio.filter((frame) => frame.deref() !== undefined)).toEqual([]);
  expect(billed).toEqual(Array.from({ length: 10 }, () => 30));
  expect(turn.text()).toBe(Array.from({ length: 10 }, () => 'words').join(' '));
});
