import { useEffect, useRef } from 'preact/hooks';
import type { Call, CallWaveform, Trace, Transcript } from '../../../../calls/views/schemas.js';
import { queryText } from '../../api';
import { duration as clock } from '../../format';
import { speakerLabel } from '../../labels';
import { usePortal } from '../../session';
import { useData } from '../../use-data';
import { Icon } from '../icon';
import type { Player, PlayerState } from './player';
import { usePlayerValue } from './use-player';
import { SeekableWaveform, toolMark } from './waveform';
import { talkTimes } from './waveform-shape';

const RATES = [0.75, 1, 1.25, 1.5, 2];
const SKIP = 10;

const isPlayingOf = ({ isPlaying }: PlayerState) => isPlaying;
const hasFailedOf = ({ hasFailed }: PlayerState) => hasFailed;
const clockOf = ({ time, duration }: PlayerState) => `${clock(Math.floor(time))} / ${clock(duration)}`;

/** The recording of a call with its waveform and controls. */
export function Recording(p: {
  call: Call;
  player: Player;
  turns: Transcript['turns'];
  toolCalls: Trace['tool_calls'];
}) {
  const { call, player, turns } = p;
  const { api, mode } = usePortal();
  const audio = useRef<HTMLAudioElement>(null);
  const source = `/calls/${call.call_id}/recording${queryText({ mode })}`;
  const waveform = useData(`${mode} ${call.call_id} ${call.updated_at}`, (signal) =>
    api.get<CallWaveform>(`/calls/${call.call_id}/waveform`, {}, signal),
  );
  useEffect(() => {
    player.attach(audio.current);
    return () => player.attach(null);
  }, [player, source]);
  const speakers = [speakerLabel('caller', call.call_direction), speakerLabel('agent', call.call_direction)] as const;

  return (
    <section class="card" aria-label="Recording">
      <div class="card-head">
        <h2>Recording</h2>
        <TalkTimes turns={turns} speakers={speakers} />
      </div>
      <audio ref={audio} preload="metadata" src={source} />
      <SeekableWaveform
        player={player}
        waveform={waveform.data}
        speakers={speakers}
        marks={p.toolCalls.map(({ name, at_ms }) => ({ at: at_ms / 1_000, text: toolMark(name, at_ms / 1_000) }))}
      />
      {waveform.state === 'failed' ? (
        <p class="quiet" role="status">
          The waveform could not be loaded: {waveform.error.message}{' '}
          <button type="button" class="button button-link" onClick={waveform.reload}>
            Try again
          </button>
        </p>
      ) : null}
      <Controls player={player} source={source} />
    </section>
  );
}

function Controls({ player, source }: { player: Player; source: string }) {
  const isPlaying = usePlayerValue(player, isPlayingOf);
  const hasFailed = usePlayerValue(player, hasFailedOf);
  const shown = usePlayerValue(player, clockOf);
  const skip = (seconds: number) => player.seek(player.read().time + seconds);
  return (
    <div class="player-controls" role="group" aria-label="Player">
      <button type="button" class="button button-main player-play" onClick={() => player.toggle()}>
        <Icon name={isPlaying ? 'pause' : 'play'} /> {isPlaying ? 'Pause' : 'Play'}
      </button>
      <button type="button" class="button" aria-label={`Back ${SKIP} seconds`} onClick={() => skip(-SKIP)}>
        −{SKIP} s
      </button>
      <button type="button" class="button" aria-label={`Forward ${SKIP} seconds`} onClick={() => skip(SKIP)}>
        +{SKIP} s
      </button>
      <span class="player-time">{shown}</span>
      <Rate player={player} />
      <a class="button" href={source} download>
        <Icon name="download" /> Download
      </a>
      <span class="quiet player-keys">On the waveform: Space plays, ← → move 5 s, Home and End go to the ends.</span>
      {hasFailed ? (
        <span class="notice notice-bad" role="alert">
          The browser cannot play the recording. Reload the page, or download it.
        </span>
      ) : null}
    </div>
  );
}

function Rate({ player }: { player: Player }) {
  const rate = usePlayerValue(player, rateOf);
  return (
    <select
      class="player-rate"
      aria-label="Speed"
      value={String(rate)}
      onChange={(event) => player.setRate(Number(event.currentTarget.value))}
    >
      {RATES.map((each) => (
        <option key={each} value={String(each)}>
          {each}×
        </option>
      ))}
    </select>
  );
}

const rateOf = ({ rate }: PlayerState) => rate;

/** Says how long each speaker talked, which the waveform shows as a picture. */
function TalkTimes({ turns, speakers }: { turns: Transcript['turns']; speakers: readonly [string, string] }) {
  if (turns.length === 0) return null;
  const { caller, agent } = talkTimes(turns);
  const of = (name: string, ms: number) =>
    `${name} talked ${clock(ms / 1_000)} (${Math.round((ms / Math.max(1, caller + agent)) * 100)} %)`;
  return (
    <p class="quiet">
      {of(speakers[0], caller)} · {of(speakers[1], agent)}
    </p>
  );
}
