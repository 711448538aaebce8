import type { FromWorklet, ToWorklet } from './talk-worklet';

/** Name of the audio thread's script in /portal/assets, set when the portal is built. */
declare const TALK_WORKLET: string;

export type Microphone = 'on' | 'denied' | 'none';

export interface TalkAudio {
  microphone: Microphone;
  send: (message: ToWorklet) => void;
  mute: (isMuted: boolean) => void;
  close: () => void;
}

/**
 * Opens the microphone and the loudspeaker. Call it from the handler of a click, because browsers play no sound without
 * one. Without a microphone, the caller types.
 * @param isListener true: the microphone stays off, and the user is not asked for it
 */
export async function openTalkAudio(onMessage: (message: FromWorklet) => void, isListener = false): Promise<TalkAudio> {
  const context = new AudioContext({ latencyHint: 'interactive' });
  try {
    const [microphone] = await Promise.all([
      isListener ? ('none' as const) : openMicrophone(),
      context.audioWorklet.addModule(`/portal/assets/${TALK_WORKLET}`),
    ]);
    await context.resume();
    const node = new AudioWorkletNode(context, 'talk', { numberOfInputs: 1, outputChannelCount: [1] });
    node.port.onmessage = ({ data }: MessageEvent<FromWorklet>) => onMessage(data);
    node.connect(context.destination);
    const stream = typeof microphone === 'string' ? undefined : microphone;
    if (stream) context.createMediaStreamSource(stream).connect(node);
    const tracks = stream?.getAudioTracks() ?? [];
    return {
      microphone: typeof microphone === 'string' ? microphone : 'on',
      send: (message) => node.port.postMessage(message),
      mute(isMuted): void {
        for (const track of tracks) track.enabled = !isMuted;
      },
      close(): void {
        node.port.postMessage({ event: 'end' } satisfies ToWorklet);
        for (const track of tracks) track.stop();
        void context.close();
      },
    };
  } catch (error) {
    await context.close();
    throw error;
  }
}

async function openMicrophone(): Promise<MediaStream | Exclude<Microphone, 'on'>> {
  // Undefined on pages without TLS, except on localhost.
  const devices: MediaDevices | undefined = navigator.mediaDevices;
  if (devices === undefined) return 'none';
  try {
    return await devices.getUserMedia({
      audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true },
    });
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotAllowedError' ? 'denied' : 'none';
  }
}
