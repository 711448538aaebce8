import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from '../api';
import { openTalkAudio, type Microphone, type TalkAudio } from './talk-audio';
import { connectTalk } from './talk-connection';
import type { TalkState } from './talk-state';

/** The agent of a web call: a stored one, or an instruction that is not stored. */
export type TalkRequest = { agent_id: string } | { instruction: string };

interface WebCall {
  call_id: string;
  url: string;
  token: string;
}

interface OpenTalk {
  connection: ReturnType<typeof connectTalk>;
  audio: TalkAudio;
  hangUp: () => void;
}

/** Talks with an agent in this browser. The call ends when the page is left. */
export function useTalk(api: Api) {
  const [callId, setCallId] = useState<string>();
  const [state, setState] = useState<TalkState>();
  const [microphone, setMicrophone] = useState<Microphone>();
  const [isMuted, setMuted] = useState(false);
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

  async function start(request: TalkRequest): Promise<void> {
    const controller = new AbortController();
    starting.current = controller;
    setStarting(true);
    setError(undefined);
    setState(undefined);
    setMuted(false);
    try {
      const talk = await openTalk(api, request, { signal: controller.signal, onCall: setCallId, onState: setState });
      open.current = talk;
      if (talk !== undefined) setMicrophone(talk.audio.microphone);
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    } finally {
      setStarting(false);
    }
  }

  return {
    callId,
    state,
    microphone,
    isMuted,
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

interface OpenOptions {
  /** Aborted when the user hangs up or leaves the page before the call is connected. */
  signal: AbortSignal;
  onCall: (callId: string) => void;
  onState: (state: TalkState) => void;
}

/** Starts a web call and connects it. Returns undefined if the user hung up meanwhile. */
async function openTalk(
  api: Api,
  request: TalkRequest,
  { signal, onCall, onState }: OpenOptions,
): Promise<OpenTalk | undefined> {
  let connection: OpenTalk['connection'] | undefined;
  // The browser may ask for permission, so this comes before the call, which waits for a minute.
  const audio = await openTalkAudio((message) => {
    if (message.event === 'media') connection?.sendAudio(message.audio);
    else connection?.sendMark(message.name);
  });
  let call: WebCall | undefined;
  try {
    if (!signal.aborted) call = await api.post<WebCall>('/web_calls', request);
  } finally {
    if (call === undefined || signal.aborted) audio.close();
  }
  if (call === undefined) return undefined;
  const { call_id: callId, url, token } = call;
  // A call without a connection would wait for one, and meanwhile count as a call of the account.
  const cancel = () => void api.post(`/calls/${callId}/cancel`).catch(() => undefined);
  if (signal.aborted) {
    cancel();
    return undefined;
  }
  onCall(callId);
  let phase: TalkState['phase'] = 'connecting';
  const connected = connectTalk({
    url,
    token,
    onState(state): void {
      phase = state.phase;
      onState(state);
      if (phase === 'ended') audio.close();
    },
    onAudio: (bytes) => audio.send({ event: 'media', audio: bytes }),
    onMark: (name) => audio.send({ event: 'mark', name }),
    onClear: () => audio.send({ event: 'clear' }),
  });
  connection = connected;
  return {
    connection: connected,
    audio,
    hangUp(): void {
      if (phase === 'connecting' || phase === 'lost') cancel();
      connected.hangUp();
    },
  };
}
