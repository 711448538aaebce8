import { createMicrophoneFrames } from './microphone-frames';
import { createLoudspeaker } from './loudspeaker';

/** A message from the page to the audio thread. */
export type ToWorklet =
  | { event: 'media'; audio: Uint8Array }
  | { event: 'mark'; name: string }
  | { event: 'clear' | 'end' };

/** A message from the audio thread to the page: a frame of the microphone, or that everything up to a mark has been played. */
export type FromWorklet = { event: 'media'; audio: Uint8Array } | { event: 'mark'; name: string };

// TypeScript's DOM library lacks the global scope of audio worklets (https://www.w3.org/TR/webaudio/#AudioWorkletGlobalScope).
declare const sampleRate: number;
declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

class TalkProcessor extends AudioWorkletProcessor {
  private readonly playback = createLoudspeaker(sampleRate);
  private readonly framesOf = createMicrophoneFrames(sampleRate);
  private isEnded = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<ToWorklet>) => this.receive(data);
  }

  /** Called by the browser for every 128 samples. */
  process([input]: Float32Array[][], [output]: Float32Array[][]): boolean {
    for (const audio of input?.[0] === undefined ? [] : this.framesOf(input[0])) this.send({ event: 'media', audio });
    const [left, ...others] = output ?? [];
    if (left !== undefined) {
      for (const name of this.playback.pull(left)) this.send({ event: 'mark', name });
      for (const channel of others) channel.set(left);
    }
    return !this.isEnded;
  }

  private receive(message: ToWorklet): void {
    if (message.event === 'media') this.playback.push(message.audio);
    else if (message.event === 'mark') this.playback.mark(message.name);
    else if (message.event === 'end') this.isEnded = true;
    else for (const name of this.playback.clear()) this.send({ event: 'mark', name });
  }

  private send(message: FromWorklet): void {
    this.port.postMessage(message);
  }
}

registerProcessor('talk', TalkProcessor);
