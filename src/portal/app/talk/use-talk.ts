import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from '../api';
import { openTalk, type OpenTalk, type TalkRequest } from './open-talk';
import type { Microphone } from './talk-audio';
import type { TalkState } from './talk-state';

/** Talks with an agent in this browser. The call ends when the page is left. */
export function useTalk(api: Api) {
  const [callId, setCallId] = useState<string>();
  const [state, setState] = useState<TalkState>();
  const [microphone, setMicrophone] = useState<Microphone>();
  const [isMuted, setMuted] = useState(false);
  const [isNoisy, setNoisy] = useState(false);
  const [error, setError] = useState<Error>();
  const [isStarting, setStarting] = useState(false);
  const open = useRef<OpenTalk | undefined>(undefined);
  const starting = useRef<AbortController | undefined>(undefined);

  /** Hangs up, also while the call is being started. */
  function end(): void {
    starting.current?.abort();
    open.current?.hangUp();
  }
  useEffect(() => end, []);

  /** @returns the error if the call could not be started */
  async function start(request: TalkRequest): Promise<Error | undefined> {
    const controller = new AbortController();
    starting.current = controller;
    setStarting(true);
    setError(undefined);
    setState(undefined);
    setMuted(false);
    setNoisy(false);
    try {
      const talk = await openTalk(api, request, {
        signal: controller.signal,
        onCall: setCallId,
        onState: setState,
        onNoise: setNoisy,
      });
      open.current = talk;
      if (talk !== undefined) setMicrophone(talk.audio.microphone);
      return undefined;
    } catch (reason) {
      const failure = reason instanceof Error ? reason : new Error(String(reason));
      setError(failure);
      return failure;
    } finally {
      setStarting(false);
    }
  }

  return {
    callId,
    state,
    microphone,
    isMuted,
    /** Whether the microphone hears sound on and on, so that the agent does not speak. */
    isNoisy: isNoisy && !isMuted && state?.phase === 'talking',
    error,
    isStarting,
    start,
    end,
    say: (text: string) => open.current?.connection.sendText(text),
    mute(next: boolean): void {
      open.current?.audio.mute(next);
      setMuted(next);
    },
  };
}
