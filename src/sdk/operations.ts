import type { z } from 'zod';
import type { routes } from '../api/routes.js';

/**
 * Operations that API keys may use. Only the types of the route table are imported, so it is not loaded at run time.
 */
type Operation = Extract<(typeof routes)[keyof typeof routes], { auth: 'key' | 'keyOrSession' }>;

export type Method = Operation['method'];
export type PathOf<M extends Method> = Extract<Operation, { method: M }>['path'];
export type OperationAt<M extends Method, P> = Extract<Operation, { method: M; path: P }>;

type InputOf<T> = T extends z.ZodType ? z.input<T> : never;

export type QueryOf<O> = O extends { query: infer Q } ? InputOf<Q> : never;
export type ResponseOf<O> = O extends { success: { schema: infer S extends z.ZodType } } ? z.output<S> : never;

/** Parameters, body and query of a request, as declared in the route table. */
export type InputsOf<O> = (O extends { params: infer P } ? { params: InputOf<P> } : unknown) &
  (O extends { body: { schema: infer B } } ? { body: InputOf<B> } : unknown) &
  (O extends { query: infer Q }
    ? object extends InputOf<Q>
      ? { query?: InputOf<Q> }
      : { query: InputOf<Q> }
    : unknown);

/** Paths that return one page of a list at a time, with a cursor. */
export type ListPath = {
  [P in PathOf<'get'>]: 'cursor' extends keyof QueryOf<OperationAt<'get', P>> ? P : never;
}[PathOf<'get'>];

/** Paths that respond with server-sent events. */
export type EventsPath = Extract<Operation, { success: { contentType: 'text/event-stream' } }>['path'];
