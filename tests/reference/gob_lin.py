"""GOB.Lin of Cesa-Bianchi, Gentile and Zappella ("A gang of bandits", NIPS 2013, Figure 2), inverses written out."""

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class GobLin:
    """LinUCB on vectors φ̃ = (A ⊗ I)^(-1/2) φ of all users, A being I and the Laplacian of their graph."""

    def __init__(self, A: Matrix, d: int, alpha: float) -> None:
        values, vectors = np.linalg.eigh(np.kron(A, np.eye(d)))
        self.root = vectors @ np.diag(values**-0.5) @ vectors.T
        self.users, self.alpha = len(A), alpha
        self.M, self.b = np.eye(self.users * d), np.zeros(self.users * d)
        self.rounds = 0

    def long(self, user: int, x: Vector) -> Vector:
        """φ̃, the record x in the user's block, transformed."""
        phi: Vector = self.root @ np.kron(np.eye(self.users)[user], x)
        return phi

    def scores(self, user: int, contexts: Matrix) -> tuple[Vector, Vector]:
        """ŵ·φ̃ and φ̃'M⁻¹φ̃ of each action."""
        inverse = np.linalg.inv(self.M)
        longs = [self.long(user, x) for x in contexts]
        return np.array([phi @ inverse @ self.b for phi in longs]), np.array([phi @ inverse @ phi for phi in longs])

    def choose(self, user: int, contexts: Matrix) -> int:
        """The action with the largest ŵ·φ̃ + alpha √(φ̃'M⁻¹φ̃ log(t + 1)) in round t, from 1."""
        payoffs, squares = self.scores(user, contexts)
        return int(np.argmax(payoffs + self.alpha * np.sqrt(squares * math.log(self.rounds + 2))))

    def learn(self, user: int, x: Vector, payoff: float) -> None:
        """M += φ̃φ̃', b += payoff φ̃."""
        phi = self.long(user, x)
        self.M, self.b = self.M + np.outer(phi, phi), self.b + payoff * phi
        self.rounds += 1
