import { openApiDocument } from '../../src/api/openapi.js';

type Node = Record<string, unknown>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);
const childrenOf = (value: unknown): [string, Node][] =>
  isNode(value) ? Object.entries(value).filter((entry): entry is [string, Node] => isNode(entry[1])) : [];
const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** Returns the target of a reference. Returns any other node as it is. */
function resolve(document: Node, node: Node): Node {
  const reference = node['$ref'];
  if (typeof reference !== 'string') return node;
  return reference
    .slice('#/'.length)
    .split('/')
    .reduce<Node>((at, key) => at[key] as Node, document);
}

const isDescribed = (document: Node, node: Node): boolean =>
  isText(node['description']) || isText(resolve(document, node)['description']);

/** Returns the schemas directly below a schema, except those of its properties. */
function schemasBelow(schema: Node): Node[] {
  const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap((key) => (schema[key] as Node[] | undefined) ?? []);
  return [...lists, schema['items'], schema['additionalProperties'], schema['contentSchema']].filter(isNode);
}

/**
 * Returns the paths of all properties without a description, at every depth. Does not follow references: their targets
 * are checked where they are defined.
 */
function undescribedProperties(document: Node, schema: Node, at: string): string[] {
  const own = childrenOf(schema['properties']).flatMap(([name, property]) => [
    ...(isDescribed(document, property) ? [] : [`${at}.${name}`]),
    ...undescribedProperties(document, property, `${at}.${name}`),
  ]);
  return [...own, ...schemasBelow(schema).flatMap((below) => undescribedProperties(document, below, `${at}[]`))];
}

/**
 * Returns the parts of an operation that have no description: the operation, its parameters, its bodies and its
 * response headers.
 */
function undescribedParts(document: Node, operation: Node): string[] {
  const id = operation['operationId'] as string;
  const parameters = ((operation['parameters'] as Node[] | undefined) ?? []).flatMap((parameter) => {
    const name = `${id} ${String(parameter['in'])} ${String(parameter['name'])}`;
    return [
      ...(isDescribed(document, resolve(document, parameter)) ? [] : [name]),
      ...undescribedProperties(document, (parameter['schema'] ?? {}) as Node, name),
    ];
  });
  const responses = childrenOf(operation['responses']);
  const headers = responses.flatMap(([status, { headers }]) =>
    childrenOf(headers)
      .filter(([, header]) => !isDescribed(document, header))
      .map(([name]) => `${id} ${status} ${name}`),
  );
  const messages = [['request', operation['requestBody']] as const, ...responses];
  const bodies = messages.flatMap(([which, message]) =>
    childrenOf(isNode(message) ? message['content'] : undefined).flatMap(([, { schema }]) =>
      undescribedProperties(document, (schema ?? {}) as Node, `${id} ${which}`),
    ),
  );
  return [...(isText(operation['description']) ? [] : [id]), ...parameters, ...headers, ...bodies];
}

function operationsOf(document: Node): Node[] {
  return [...childrenOf(document['paths']), ...childrenOf(document['webhooks'])].flatMap(([, path]) =>
    childrenOf(path).map(([, operation]) => operation),
  );
}

const componentsOf = (document: Node) => childrenOf((document['components'] as Node)['schemas']);

function undescribed(document: Node): string[] {
  return [
    ...componentsOf(document).flatMap(([name, schema]) => undescribedProperties(document, schema, name)),
    ...operationsOf(document).flatMap((operation) => undescribedParts(document, operation)),
  ];
}

describe('descriptions in the OpenAPI document', () => {
  const document = () => structuredClone(openApiDocument('https://calls.test')) as unknown as Node;

  it('exist for every operation, parameter, header and property', () => {
    expect(undescribed(document())).toEqual([]);
  });

  it('are reported as missing for an operation, a parameter and a property of a list item', () => {
    const stripped = document();
    const listCalls = operationsOf(stripped).find(({ operationId }) => operationId === 'listCalls') as Node;
    delete listCalls['description'];
    const [limit] = listCalls['parameters'] as [Node];
    delete limit['description'];
    delete (limit['schema'] as Node)['description'];
    const [, voices] = componentsOf(stripped).find(([name]) => name === 'VoiceList') as [string, Node];
    const { items } = (voices['properties'] as { voices: { items: { properties: { voice: Node } } } }).voices;
    delete items.properties.voice['description'];
    expect(undescribed(stripped)).toEqual(['VoiceList.voices[].voice', 'listCalls', 'listCalls query limit']);
  });
});
