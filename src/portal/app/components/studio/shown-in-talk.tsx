import { Icon, type IconName } from '../icon';

const SHOWN: readonly [icon: IconName, text: string][] = [
  ['words', 'the words of both, while they are spoken'],
  ['data', 'the values, as the agent collects them'],
  ['latency', 'how long each answer took, by stage'],
  ['tools', 'the tools that the agent uses, and what they returned'],
];

/** Lists what the Studio shows of a call in the browser. */
export function ShownInTalk() {
  return (
    <ul class="talk-shows">
      {SHOWN.map(([icon, text]) => (
        <li key={icon}>
          <Icon name={icon} /> {text}
        </li>
      ))}
    </ul>
  );
}
