import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Call, ConversationSoFar, Transcript } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import type { Player } from './player';
import { usePlayerValue } from './use-player';
import { turnAt } from './waveform-shape';
import { duration } from '../../format';
import { speakerLabel } from '../../labels';

/**
 * The turns of a call, the interim words of one in progress, and in step with the recording the turn that is heard.
 * Clicking a turn plays the recording from its start.
 */
export function Turns(p: {
  call: Call;
  turns: Transcript['turns'];
  interim: ConversationSoFar['interim'];
  player: Player;
}) {
  const { call, turns, interim, player } = p;
  const list = useRef<HTMLDivElement>(null);
  const select = useMemo(
    () => (state: ReturnType<Player['read']>) =>
      state.time === 0 && !state.isPlaying ? -1 : turnAt(turns, state.time * 1_000 + 1),
    [turns],
  );
  const current = usePlayerValue(player, select);
  useFollowing(list, {
    current,
    words: [...turns, ...interim].map(({ text }) => text.length).join(' '),
    isLive: !isFinalStatus(call.status),
  });

  const rows = useMemo(
    () =>
      turns.map((turn, index) => (
        <button
          key={`${turn.start_ms} ${turn.speaker}`}
          type="button"
          class={`${turn.speaker} ${index === current ? 'current' : ''}`}
          disabled={!call.has_recording}
          {...(index === current ? { 'aria-current': 'true' as const } : {})}
          onClick={() => player.playFrom(turn.start_ms / 1_000)}
        >
          <small>
            {speakerLabel(turn.speaker, call.call_direction)} · {duration(turn.start_ms / 1_000)}
            {turn.latency_ms === undefined ? '' : ` · response in ${(turn.latency_ms / 1_000).toFixed(1)} s`}
          </small>
          {turn.text}
        </button>
      )),
    [turns, current, call.has_recording],
  );

  if (turns.length === 0 && interim.length === 0) return <NoWords isOver={isFinalStatus(call.status)} />;
  return (
    <div class="talk" ref={list} role="region" aria-label="Transcript" tabIndex={0}>
      {rows}
      {interim.map(({ speaker, text }) => (
        <p key={speaker} class={`interim ${speaker}`}>
          <small>{speakerLabel(speaker, call.call_direction)} · speaking</small>
          {text}
        </p>
      ))}
    </div>
  );
}

function NoWords({ isOver }: { isOver: boolean }) {
  return (
    <div class="empty">
      {isOver
        ? 'No transcript: nothing was said, or the call was erased.'
        : 'The words appear here as they are spoken.'}
    </div>
  );
}

/** Distance in pixels from the end of a list within which it follows what is added. */
const NEAR_END = 80;

/**
 * Keeps the turn that is heard in view, and during a call the newest words, unless the reader has scrolled up. Moves the
 * list only, not the page.
 * @param p.words changes with every word that is added
 */
function useFollowing(
  list: { current: HTMLDivElement | null },
  p: { current: number; words: string; isLive: boolean },
): void {
  const follows = useRef(p.isLive);
  const lastTop = useRef(0);
  useEffect(() => {
    const element = list.current;
    const turn = element?.querySelector<HTMLElement>('.current');
    if (element === null || turn === null || turn === undefined) return;
    const top = turn.offsetTop - element.offsetTop;
    const isSeen = top >= element.scrollTop && top + turn.offsetHeight <= element.scrollTop + element.clientHeight;
    if (!isSeen) element.scrollTop = top - element.clientHeight / 4;
  }, [p.current]);
  useEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    if (follows.current) element.scrollTop = element.scrollHeight;
    // More words may have come between a movement and its event, so only a movement up ends the following.
    const note = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      if (scrollHeight - scrollTop - clientHeight < NEAR_END) follows.current = true;
      else if (scrollTop < lastTop.current) follows.current = false;
      lastTop.current = scrollTop;
    };
    element.addEventListener('scroll', note, { passive: true });
    return () => element.removeEventListener('scroll', note);
  }, [p.words]);
}
