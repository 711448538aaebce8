import type { Call } from '../../../../calls/views/schemas.js';
import { durationInWords, formatDollars } from '../../format';
import { labelOf } from '../../labels';
import { Table } from '../pager';
import { Time } from '../values';

/** Shows the money held for each window of a call, and how much of it was billed. */
export function CostWindows({ windows }: { windows: Call['cost_windows'] }) {
  if (windows.length === 0) return <p class="quiet">No money was held for this call.</p>;
  return (
    <Table
      label="Cost by window"
      head={['Window', 'Held at', 'Held', 'Amount held', 'Billed', 'Cost']}
      numeric={['Held', 'Amount held', 'Billed', 'Cost']}
      cards
    >
      {windows.map((window) => (
        <tr role="row" key={window.window}>
          <td role="cell">{window.window + 1}</td>
          <td role="cell">
            <Time at={window.at} />
          </td>
          <td role="cell" class="number">
            {window.refusal === undefined ? durationInWords(window.held_seconds) : labelOf(window.refusal)}
          </td>
          <td role="cell" class="number">
            {window.refusal === undefined ? dollars(window.held_micros) : '–'}
          </td>
          <td role="cell" class="number">
            {window.billed_seconds === undefined ? '–' : durationInWords(window.billed_seconds)}
          </td>
          <td role="cell" class="number">
            {window.billed_micros === undefined ? '–' : dollars(window.billed_micros)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

const dollars = (micros: number) => formatDollars(micros / 1e6, 4);
