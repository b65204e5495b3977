"""The workflow runtime: Workflows of Stages and Steps, run by a Service that saves each boundary before it shows it."""

from .ownership import Recovered, recover_project
from .receipts import Receipt
from .refusals import Refused
from .service import Service, new_project
from .workflow import END, AgentWork, Code, Stage, Step, Workflow, agent, code, to_stage, to_step

__all__ = [
    "END",
    "AgentWork",
    "Code",
    "Receipt",
    "Recovered",
    "Refused",
    "Service",
    "Stage",
    "Step",
    "Workflow",
    "agent",
    "code",
    "new_project",
    "recover_project",
    "to_stage",
    "to_step",
]
