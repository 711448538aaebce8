export { CallWorkflow } from './call.js';
export { EraseWorkflow, RedeliverWorkflow } from './follow-ups.js';
export { NotifyWorkflow, ReconcileWorkflow } from './reconcile.js';
