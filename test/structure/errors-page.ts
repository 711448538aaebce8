import { ERRORS, FAULTS } from '../../src/platform/http/contract/errors.js';

/** Returns the text of docs/errors.md. */
export function errorsPage(): string {
  const codes = Object.entries(ERRORS).map(
    ([code, { status, meaning, remedy }]) =>
      `### ${code}\n\n${folded(`Status ${status}. ${meaning}`)}\n\n${folded(remedy)}`,
  );
  const faults = Object.entries(FAULTS).map(
    ([code, { meaning, remedy }]) => `### ${code}\n\n${folded(meaning)}\n\n${folded(remedy)}`,
  );
  return `# Errors

<!-- Made by \`npm run structure\`: codes from src/platform/http/contract/errors.ts, the rest from test/structure/errors-page.ts. -->

Every code of an error response, with its cause and remedy. For developers who build on the API. The service has the same
texts at \`/docs/errors\`, where the \`doc_url\` of each error leads.

\`\`\`json
{
  "success": false,
  "message": "to_phone_number is required. webhook_url must be a valid http or https URL.",
  "error_code": "MISSING_PARAMS",
  "fields": {
    "to_phone_number": "to_phone_number is required.",
    "webhook_url": "webhook_url must be a valid http or https URL."
  },
  "errors": [
    {
      "param": "to_phone_number",
      "code": "parameter_missing",
      "message": "to_phone_number is required.",
      "doc_url": "https://calls.example.com/docs/errors#parameter_missing"
    },
    {
      "param": "webhook_url",
      "code": "parameter_invalid",
      "message": "webhook_url must be a valid http or https URL.",
      "doc_url": "https://calls.example.com/docs/errors#parameter_invalid"
    }
  ],
  "doc_url": "https://calls.example.com/docs/errors#missing_params",
  "request_id": "req_01JD3Q4Z6WX8Y2V7T5R9S1K0MN"
}
\`\`\`

- \`error_code\` is for programs and never changes its meaning. \`message\` is for people, and its wording may change.
- \`errors\` lists every fault of the request, at most 20. \`param\` is the field or parameter, with its place in a list, as in
  \`tools.0.url\`. It is \`body\` or \`request\` if the whole of it is at fault. The form of each field is checked first;
  rules between fields, and those that need stored data, are checked when every field has the right form.
- \`fields\` has the same messages by field, and is older than \`errors\`.
- \`request_id\` is the \`X-Request-Id\` of the response. Name it when you ask the operator about an error.

A rejected request changes nothing, places no call and costs nothing.

## Warnings

\`/outbound_call\` ignores unknown fields. The response header \`X-Callwright-Warnings\` names them, so that a misspelt name is
noticed, and the call's timeline has the event \`unknown_fields_ignored\`:

\`\`\`
X-Callwright-Warnings: unknown_fields=extrenal_call_id,speed
\`\`\`

Names are percent-encoded. The header has at most 20 names and 1 kB; \`; omitted=\` counts the others.

## Error codes

${codes.join('\n\n')}

## Faults of a request

The \`code\` of each entry of \`errors\`.

${faults.join('\n\n')}

## Codes of the clients

The command line and the SDK report these codes themselves when there is no error object.

### UNREACHABLE

The service did not respond.

Check the address of the service and your network. The message says which setting has the address.

### TIMEOUT

The service did not respond in time.

Read the state before you repeat a change, or repeat it with the same \`Idempotency-Key\`.

### CALL_NOT_COMPLETED

With \`calls create --wait\`: the call was placed, but not completed.

\`status\` and \`end_reason\` say how it ended.

### UNKNOWN

The response has no error object, so it is probably that of a proxy or of another service.

Check the address. If it is right, look at the logs of the proxy in front of the service.
`;
}

/** Breaks a paragraph into lines of at most 120 characters. */
function folded(text: string): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > 120) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}
