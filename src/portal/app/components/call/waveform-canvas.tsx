import { useEffect, useRef } from 'preact/hooks';
import type { CallWaveform } from '../../../../calls/views/schemas.js';
import { columnHeights } from './waveform-shape';

const COLUMN = 2;
const GAP = 1;
const LANE_PADDING = 4;

/**
 * Draws both tracks of a recording: the other person above, the agent below. The canvas is decoration; the slider that
 * contains it and the transcript say the same in words.
 * @param p.look `played` draws in the colors of the part that was played
 */
export function WaveformCanvas(p: { of: CallWaveform; width: number; height: number; look: 'played' | 'rest' }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const redraw = () => canvas.current && draw(canvas.current, p);
    redraw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', redraw);
    return () => dark.removeEventListener('change', redraw);
  }, [p.of, p.width, p.height]);
  return <canvas ref={canvas} class={`waveform-canvas waveform-${p.look}`} aria-hidden="true" />;
}

function draw(canvas: HTMLCanvasElement, p: { of: CallWaveform; width: number; height: number }): void {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(p.width * ratio);
  canvas.height = Math.round(p.height * ratio);
  const context = canvas.getContext('2d');
  if (context === null || p.width === 0) return;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const { caller, agent } = p.of;
  const loudest = Math.max(0, ...caller, ...agent);
  const lane = p.height / 2;
  for (const [index, peaks] of [caller, agent].entries()) {
    context.fillStyle = style.getPropertyValue(index === 0 ? 'color' : 'outline-color');
    const heights = columnHeights(peaks, p.width / (COLUMN + GAP), loudest);
    const step = p.width / Math.max(1, heights.length);
    const middle = lane * (index + 0.5);
    for (const [column, share] of heights.entries()) {
      const height = Math.max(1, share * (lane - 2 * LANE_PADDING));
      context.fillRect(column * step, middle - height / 2, Math.max(1, step - GAP), height);
    }
  }
}
