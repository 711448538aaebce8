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
    >
      {windows.map((window) => (
        <tr key={window.window}>
          <td>{window.window + 1}</td>
          <td>
            <Time at={window.at} />
          </td>
          <td class="number">
            {window.refusal === undefined ? durationInWords(window.held_seconds) : labelOf(window.refusal)}
          </td>
          <td class="number">{window.refusal === undefined ? dollars(window.held_micros) : '–'}</td>
          <td class="number">{window.billed_seconds === undefined ? '–' : durationInWords(window.billed_seconds)}</td>
          <td class="number">{window.billed_micros === undefined ? '–' : dollars(window.billed_micros)}</td>
        </tr>
      ))}
    </Table>
  );
}

const dollars = (micros: number) => formatDollars(micros / 1e6, 4);
