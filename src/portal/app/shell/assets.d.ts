declare module 'lucide-static/icons/*.svg' {
  /** Elements of the drawing, with their attributes. */
  const shapes: readonly (readonly [name: string, attributes: Readonly<Record<string, string>>])[];
  export default shapes;
}

declare module '*.svg' {
  const url: string;
  export default url;
}
