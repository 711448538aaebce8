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

  function end(): void {
    open.current?.connection.hangUp();
  }
  useEffect(() => end, []);

  async function start(request: TalkRequest): Promise<void> {
    setStarting(true);
    setError(undefined);
    try {
      open.current = await openTalk(api, request, {
        onCall: setCallId,
        onState(next): void {
          setState(next);
          if (next.phase === 'ended') open.current?.audio.close();
        },
      });
      setMuted(false);
      setMicrophone(open.current.audio.microphone);
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

async function openTalk(
  api: Api,
  request: TalkRequest,
  { onCall, onState }: { onCall: (callId: string) => void; onState: (state: TalkState) => void },
): Promise<OpenTalk> {
  let connection: OpenTalk['connection'] | undefined;
  // The browser may ask for permission, so this comes before the call, which waits for a minute.
  const audio = await openTalkAudio((message) => {
    if (message.event === 'media') connection?.sendAudio(message.audio);
    else connection?.sendMark(message.name);
  });
  try {
    const { call_id, url, token } = await api.post<WebCall>('/web_calls', request);
    onCall(call_id);
    connection = connectTalk({
      url,
      token,
      onState,
      onAudio: (bytes) => audio.send({ event: 'media', audio: bytes }),
      onMark: (name) => audio.send({ event: 'mark', name }),
      onClear: () => audio.send({ event: 'clear' }),
    });
    return { connection, audio };
  } catch (error) {
    audio.close();
    throw error;
  }
}
