import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from '../api';
import { openTalk, type TalkRequest } from './open-talk';

/** A pause this long means that the sentence is over: audio is confirmed as played every 200 ms. */
const PAUSE_MS = 800;
/** A preview is a call with a price per second, so it ends after this time, whatever the agent says. */
const LONGEST_MS = 20_000;

type Phase = 'idle' | 'connecting' | 'speaking';

/** Lets an agent say its first message in a web call without a microphone, and hangs up when it pauses. */
export function useVoicePreview(api: Api) {
  const [phase, setPhase] = useState<Phase>('idle');
  const stop = useRef(() => {});
  useEffect(() => () => stop.current(), []);

  /** @returns the error if the call could not be started */
  async function play(request: TalkRequest): Promise<Error | undefined> {
    const controller = new AbortController();
    let hangUp = () => {};
    let pause: ReturnType<typeof setTimeout> | undefined;
    const end = () => {
      if (controller.signal.aborted) return;
      controller.abort();
      clearTimeout(pause);
      clearTimeout(longest);
      hangUp();
      setPhase('idle');
    };
    const longest = setTimeout(end, LONGEST_MS);
    stop.current = end;
    setPhase('connecting');
    try {
      const talk = await openTalk(api, request, {
        isListener: true,
        signal: controller.signal,
        onState: (state) => {
          if (state.phase === 'ended') end();
        },
        onPlayed() {
          if (controller.signal.aborted) return;
          setPhase('speaking');
          clearTimeout(pause);
          pause = setTimeout(end, PAUSE_MS);
        },
      });
      if (talk !== undefined) hangUp = talk.hangUp;
      if (controller.signal.aborted) hangUp();
      return undefined;
    } catch (error) {
      end();
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  return { phase, play, stop: () => stop.current() };
}
