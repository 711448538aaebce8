/** Shows a JSON object, which is encoded as a string, as rows. */
export function ExtractedData({ json, none }: { json: string | undefined; none: string }) {
  const entries = entriesOf(json);
  if (entries.length === 0) return <p class="quiet">{none}</p>;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <>
          <dt>
            {partsOf(name).map((part, index) => (
              <>
                {index === 0 ? null : <wbr />}
                {part}
              </>
            ))}
          </dt>
          <dd>{value === null ? <span class="quiet">not mentioned</span> : textOf(value)}</dd>
        </>
      ))}
    </dl>
  );
}

/** Splits a name where a line may end: after an underscore, and before a capital letter. */
function partsOf(name: string): string[] {
  return name.split(/(?<=_)|(?=[A-Z])/);
}

function entriesOf(json: string | undefined): [string, unknown][] {
  try {
    const value: unknown = JSON.parse(json ?? '{}');
    return typeof value === 'object' && value !== null ? Object.entries(value) : [];
  } catch {
    return [];
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
