import type { Api } from '../api';
import { createNoiseWatch } from './noise-watch';
import { openTalkAudio, type TalkAudio } from './talk-audio';
import { connectTalk } from './talk-connection';
import type { TalkState } from './talk-state';

/** The agent of a web call: a stored one, or a draft, perhaps of a stored one. */
export type TalkRequest = { agent_id?: string; agent?: Record<string, unknown> };

interface WebCall {
  call_id: string;
  url: string;
  token: string;
}

export interface OpenTalk {
  connection: ReturnType<typeof connectTalk>;
  audio: TalkAudio;
  hangUp: () => void;
}

interface OpenOptions {
  /** True if the user only listens: the microphone stays off. */
  isListener?: true;
  /** Aborted when the user hangs up or leaves the page before the call is connected. */
  signal: AbortSignal;
  onCall?: (callId: string) => void;
  onState: (state: TalkState) => void;
  /** Called again and again while the agent's audio is played. */
  onPlayed?: () => void;
  /** Called for every frame of the microphone, with whether it hears sound without a pause. */
  onNoise?: (isNoisy: boolean) => void;
}

/** Starts a web call and connects it. Returns undefined if the user hung up meanwhile. */
export async function openTalk(
  api: Api,
  request: TalkRequest,
  { isListener, signal, onCall, onState, onPlayed, onNoise }: OpenOptions,
): Promise<OpenTalk | undefined> {
  let connection: OpenTalk['connection'] | undefined;
  const noise = createNoiseWatch();
  // The browser may ask for permission, so this comes before the call, which waits for a minute.
  const audio = await openTalkAudio((message) => {
    if (message.event === 'media') {
      onNoise?.(noise.isNoisyAfter(message.audio));
      return connection?.sendAudio(message.audio);
    }
    noise.reset();
    onPlayed?.();
    return connection?.sendMark(message.name);
  }, isListener);
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
  onCall?.(callId);
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
