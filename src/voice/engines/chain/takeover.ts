import { personIn } from '../../session/reducer/resume.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import { ONE_MOMENT } from '../offline-phrases.js';
import type { EngineCall, TranscriptTurn } from '../port.js';

type TakenCall = Pick<EngineCall, 'takesOver' | 'resume'>;

/** The properties of a session that continues the call of another engine. */
export function takeoverOf(call: TakenCall): Pick<SessionSetup, 'takesOver' | 'person'> {
  const { takesOver, resume } = call;
  if (takesOver === undefined) return {};
  const noticed = resume !== undefined && resume.unnoticed !== true;
  return {
    ...(isAsked(call) ? { takesOver: 'question' } : noticed ? {} : { takesOver: 'rest' }),
    ...(takesOver.answeredBy === 'human' ? { person: personIn(resume?.turns ?? []) } : {}),
  };
}

/** Whether the caller spoke last before this engine took over, apart from a filler. */
function isAsked({ resume }: TakenCall): boolean {
  const isFiller = ({ text }: TranscriptTurn) => ONE_MOMENT.startsWith(text.replace(' (interrupted)', ''));
  return resume?.turns.findLast((turn) => turn.speaker === 'caller' || !isFiller(turn))?.speaker === 'caller';
}
