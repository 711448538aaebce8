/**
 * Style sheet of the API reference, after that of Swagger UI: colors of text with a contrast of at least 4.5, which those
 * of Swagger UI do not have.
 */
export const DOCS_STYLE = `html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #1f5fb0; }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #1b7a4b; }
html:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #8a5200; }
html:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #0b7468; }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #b3261e; }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5a6170; }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4a6b00; }
html:not(.dark-mode) .swagger-ui :is(.info, .markdown, .renderedMarkdown) a,
html:not(.dark-mode) .swagger-ui :is(.info .url, .link) { color: #1f5fb0; }
html:not(.dark-mode) .swagger-ui .btn.authorize { border-color: #1b6b3a; color: #1b6b3a; }
html:not(.dark-mode) .swagger-ui .btn.authorize svg { fill: #1b6b3a; }
html:not(.dark-mode) .swagger-ui .btn.execute { background: #1f5fb0; border-color: #1f5fb0; }
html:not(.dark-mode) .swagger-ui .btn.cancel { border-color: #b3261e; color: #b3261e; }
html:not(.dark-mode) .swagger-ui :is(.parameter__in, .parameter__extension) { color: #5a6067; }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-expand-deep-button { color: #5a6067; }
html.dark-mode .swagger-ui .opblock .opblock-section-header .try-out__btn.cancel { border-color: #ff9a94; color: #ff9a94; }
html.dark-mode .swagger-ui :is(.headers .header-col, .headers th, .examples-select__section-label) { color: #b5bcc4; }
/* Swagger UI sets the color of strings in examples on each element. */
.swagger-ui .highlight-code .microlight span[style*='211, 99, 99'] { color: #ff9a94 !important; }
`;
