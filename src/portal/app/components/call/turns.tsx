import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Call, ConversationSoFar, Transcript } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { keptBy } from '../../../../kernel/conversation/storage.js';
import type { Player } from './player';
import { usePlayerValue } from './use-player';
import { turnAt } from './waveform-shape';
import { duration } from '../../format';
import { roundedTime } from './latency/latency-shape';
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
  /** Whether the reader is the other person of the call. */
  isOwn?: boolean;
}) {
  const { call, turns, interim, player } = p;
  const nameOf = (speaker: 'agent' | 'caller') =>
    speaker === 'caller' && p.isOwn === true ? 'You' : speakerLabel(speaker, call.call_direction);
  const isLive = !isFinalStatus(call.status);
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
    isLive,
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
          <Heading name={nameOf(turn.speaker)} turn={turn} />
          {turn.text}
        </button>
      )),
    [turns, current, call.has_recording],
  );

  if (turns.length === 0 && interim.length === 0) return <NoWords call={call} />;
  return (
    <div
      class={`talk ${isLive ? 'talk-live' : ''}`}
      ref={list}
      role="region"
      aria-label="Transcript"
      {...(isLive ? { tabIndex: 0 } : {})}
    >
      {rows}
      {interim.map(({ speaker, text }) => (
        <Interim key={speaker} speaker={speaker} name={nameOf(speaker)} text={text} />
      ))}
    </div>
  );
}

function Interim({ speaker, name, text }: { speaker: string; name: string; text: string }) {
  return (
    <p class={`interim ${speaker}`}>
      <small>
        <b>{name}</b> · speaking
      </small>
      {text}
    </p>
  );
}

/** Names the speaker and the time of a turn, and how long the other person waited for it. */
function Heading({ name, turn }: { name: string; turn: Transcript['turns'][number] }) {
  const wait = turn.latency_ms === undefined ? '' : ` · response in ${roundedTime(turn.latency_ms)}`;
  return (
    <small>
      <b>{name}</b> · {duration(turn.start_ms / 1_000)}
      {wait}
    </small>
  );
}

function NoWords({ call: { status, storage } }: { call: Call }) {
  return (
    <div class="empty">{isFinalStatus(status) ? whyNoWords(storage) : 'The words appear here as they are spoken.'}</div>
  );
}

function whyNoWords(storage: Call['storage']): string {
  if (!keptBy(storage).words) return 'This agent keeps no transcript.';
  return 'No transcript: nothing was said, or the call was erased.';
}

/** Distance in pixels from the end of the words within which the page follows what is added. */
const NEAR_END = 80;

/** Returns the element that scrolls the list: the list itself, or a panel around it; undefined if the page does. */
function scrollerOf(list: HTMLElement | null): HTMLElement | undefined {
  for (let element = list; element !== null && element !== document.body; element = element.parentElement) {
    if (getComputedStyle(element).overflowY === 'auto') return element;
  }
  return undefined;
}

/** Returns how far the end of the list is below the visible part of what scrolls it. */
function hiddenBelow(list: HTMLElement, scroller: HTMLElement): number {
  if (list === scroller) return list.scrollHeight - list.scrollTop - list.clientHeight;
  return list.getBoundingClientRect().bottom - Math.min(innerHeight, scroller.getBoundingClientRect().bottom);
}

/**
 * Keeps the turn that is heard in view, and during a call the newest words, unless the reader has scrolled up. Moves the
 * list, or the panel around it, and not the page.
 * @param p.words changes with every word that is added
 */
function useFollowing(
  list: { current: HTMLDivElement | null },
  p: { current: number; words: string; isLive: boolean },
): void {
  const follows = useRef(p.isLive);
  const lastTop = useRef(0);
  useEffect(() => {
    const scroller = scrollerOf(list.current);
    const turn = list.current?.querySelector<HTMLElement>('.current');
    if (scroller === undefined || turn === null || turn === undefined) return;
    const [seen, place] = [scroller.getBoundingClientRect(), turn.getBoundingClientRect()];
    const isSeen = place.top >= seen.top && place.bottom <= seen.bottom;
    if (!isSeen) scroller.scrollTop += place.top - seen.top - scroller.clientHeight / 4;
  }, [p.current]);
  useEffect(() => {
    const element = list.current;
    const scroller = scrollerOf(element);
    if (element === null || scroller === undefined) return undefined;
    if (follows.current) scroller.scrollTop += Math.max(0, hiddenBelow(element, scroller));
    // More words may have come between a movement and its event, so only a movement up ends the following.
    const note = () => {
      const { scrollTop } = scroller;
      if (hiddenBelow(element, scroller) < NEAR_END) follows.current = true;
      else if (scrollTop < lastTop.current) follows.current = false;
      lastTop.current = scrollTop;
    };
    scroller.addEventListener('scroll', note, { passive: true });
    return () => scroller.removeEventListener('scroll', note);
  }, [p.words]);
}
