import { useState } from 'preact/hooks';
import type { WebhookAttemptDetail, WebhookDeliveryDetail } from '../../../../webhooks/schemas.js';
import { usePortal } from '../../session';
import { useData } from '../../use-data';
import { Loaded } from '../feedback';
import { Code } from '../values';
import { remedyOf, responseOf } from '../webhooks/attempt-response';
import { prettyJson } from './pretty-json';

/** Characters of a body that are shown at first. A body with a long transcript has two million. */
const SHOWN_CHARACTERS = 4_000;

/** Request and response of one attempt to deliver a call's webhook. */
export function AttemptDetails({ callId, number }: { callId: string; number: number }) {
  const { api, mode } = usePortal();
  const delivery = useData(`${mode} ${callId} ${number}`, (signal) =>
    api.get<WebhookDeliveryDetail>(`/webhook_deliveries/${callId}`, {}, signal),
  );
  return (
    <Loaded of={delivery}>
      {({ url, body, attempt_log: attempts }) => {
        const attempt = attempts.find((each) => each.number === number);
        return attempt === undefined ? null : <Exchange url={url} body={body} attempt={attempt} />;
      }}
    </Loaded>
  );
}

function Exchange({ url, body, attempt }: { url: string; body: string; attempt: WebhookAttemptDetail }) {
  const remedy = remedyOf(attempt);
  return (
    <div class="exchange">
      <div>
        <h3>Request of attempt {attempt.number}</h3>
        <p class="mono breakable">{url === '' ? 'The URL was erased.' : `POST ${url}`}</p>
        <Headers of={attempt.request_headers} what="request" />
        <Body text={body} label="Body of the request" none="The body was erased." />
      </div>
      <div>
        <h3>Response</h3>
        <p class="mono">{responseOf(attempt)}</p>
        {remedy === undefined ? null : <p class="notice">{remedy}</p>}
        {attempt.http_status === undefined ? null : (
          <>
            <Headers of={attempt.response_headers} what="response" leftOut={attempt.response_headers_left_out} />
            <Body text={attempt.response_body ?? ''} label="First KiB of the response" none="No body." />
          </>
        )}
      </div>
    </div>
  );
}

interface HeadersProps {
  of: WebhookAttemptDetail['request_headers'];
  what: string;
  leftOut?: number | undefined;
}

function Headers({ of: headers, what, leftOut = 0 }: HeadersProps) {
  if (headers === undefined) return <p class="quiet">The headers of the {what} were not stored.</p>;
  if (headers.length === 0) return <p class="quiet">No headers.</p>;
  return (
    <>
      <dl class="headers">
        {headers.map(({ name, value }, index) => (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {leftOut > 0 ? <p class="quiet">{leftOut} more were not stored.</p> : null}
    </>
  );
}

function Body({ text, label, none }: { text: string; label: string; none: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text === '') return <p class="quiet">{none}</p>;
  const pretty = prettyJson(text);
  const isLong = pretty.length > SHOWN_CHARACTERS && !isWhole;
  return (
    <>
      <Code text={isLong ? `${pretty.slice(0, SHOWN_CHARACTERS)}…` : pretty} label={label} />
      {isLong ? (
        <button type="button" class="button button-small" onClick={() => setWhole(true)}>
          Show all {pretty.length.toLocaleString()} characters
        </button>
      ) : null}
    </>
  );
}
