import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { CallWaveform } from '../../../../calls/views/schemas.js';
import { duration as clock } from '../../format';
import type { Player, PlayerState } from './player';
import { usePlayerValue } from './use-player';
import { useWidth } from '../charts/use-width';
import { WaveformCanvas } from './waveform-canvas';
import { timeTicks } from './waveform-shape';

const HEIGHT = 128;
const STEP = 5;
const LONG_STEP = 30;

const timeOf = ({ time }: PlayerState) => time;
const secondOf = ({ time }: PlayerState) => Math.floor(time);
const durationOf = ({ duration }: PlayerState) => duration;

interface WaveformProps {
  player: Player;
  /** Undefined while it is loaded, and if it could not be. */
  waveform: CallWaveform | undefined;
  /** Names of the speakers, the upper track first. */
  speakers: readonly [string, string];
  /** Moments to mark, in seconds. */
  marks: readonly { at: number; text: string }[];
}

/** The recording as a picture of both tracks, and a slider that seeks in it. */
export function SeekableWaveform({ player, waveform, speakers, marks }: WaveformProps) {
  const known = usePlayerValue(player, durationOf);
  const duration = known === 0 ? (waveform?.duration_ms ?? 0) / 1_000 : known;
  const [frame, width] = useWidth<HTMLDivElement>();
  const pictures = useMemo(
    () =>
      waveform === undefined || width === 0 ? null : (
        <>
          <WaveformCanvas of={waveform} width={width} height={HEIGHT} look="rest" />
          <Played player={player} duration={duration}>
            <WaveformCanvas of={waveform} width={width} height={HEIGHT} look="played" />
          </Played>
        </>
      ),
    [waveform, width, duration],
  );
  return (
    <div class="waveform">
      <div class="waveform-speakers">
        <span>{speakers[0]}</span>
        <span>{speakers[1]}</span>
      </div>
      <div ref={frame}>
        <SeekBar player={player} duration={duration}>
          {pictures}
          {marks.map(({ at, text }, index) => (
            <i key={index} class="waveform-mark" title={text} style={{ left: share(at, duration) }} />
          ))}
          <Playhead player={player} duration={duration} />
        </SeekBar>
        <div class="waveform-axis" aria-hidden="true">
          {timeTicks(duration, width).map((seconds) => (
            <span key={seconds} style={{ left: share(seconds, duration) }}>
              {clock(seconds)}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The slider that covers the picture. Keys move by seconds; Space plays. */
function SeekBar(p: { player: Player; duration: number; children: preact.ComponentChildren }) {
  const { player, duration } = p;
  const time = usePlayerValue(player, secondOf);
  const [pointed, setPointed] = useState<number>();

  function timeAt(event: TargetedPointerEvent<HTMLElement>): number {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / Math.max(1, width))) * duration;
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLElement>): void {
    const target = targetOf(event.key, player.read().time, duration);
    if (event.key === ' ') player.toggle();
    else if (target === undefined) return;
    else player.seek(Math.min(duration, target));
    event.preventDefault();
  }

  return (
    <div
      class="waveform-slider"
      role="slider"
      tabIndex={0}
      aria-label="Position in the recording"
      aria-valuemin={0}
      aria-valuemax={Math.floor(duration)}
      aria-valuenow={Math.min(time, Math.floor(duration))}
      aria-valuetext={`${clock(time)} of ${clock(duration)}`}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        player.seek(timeAt(event));
      }}
      onPointerMove={(event) => {
        setPointed(timeAt(event));
        if (event.currentTarget.hasPointerCapture(event.pointerId)) player.seek(timeAt(event));
      }}
      onPointerLeave={() => setPointed(undefined)}
    >
      {p.children}
      {pointed === undefined ? null : (
        <span class="waveform-tip" style={{ left: share(pointed, duration) }}>
          {clock(pointed)}
        </span>
      )}
    </div>
  );
}

/** Returns where a key leads; undefined for keys that do not move. */
function targetOf(key: string, time: number, duration: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: time - STEP,
    ArrowDown: time - STEP,
    ArrowRight: time + STEP,
    ArrowUp: time + STEP,
    PageUp: time + LONG_STEP,
    PageDown: time - LONG_STEP,
    Home: 0,
    End: duration,
  };
  return targets[key];
}

/** Shows the part of the picture that was played. */
function Played(p: { player: Player; duration: number; children: preact.ComponentChildren }) {
  const time = usePlayerValue(p.player, timeOf);
  return (
    <div class="waveform-clip" style={{ clipPath: `inset(0 calc(100% - ${share(time, p.duration)}) 0 0)` }}>
      {p.children}
    </div>
  );
}

function Playhead({ player, duration }: { player: Player; duration: number }) {
  const time = usePlayerValue(player, timeOf);
  return <span class="waveform-playhead" style={{ left: share(time, duration) }} />;
}

function share(time: number, duration: number): string {
  return `${duration === 0 ? 0 : Math.min(100, (time / duration) * 100)}%`;
}

/** Names a mark of a tool call. */
export const toolMark = (name: string, at: number) => `Tool ${name} at ${clock(at)}`;
